//! Tokens: what a client has to know, and what it may do with it.
//!
//! A file has one a line: the token, then `read-only` if it is, then the name of its holder, which
//! `show configuration history` shows. `#` begins a comment.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use control::cli::io_text;
use subtle::ConstantTimeEq;

/// Shortest token.
const SHORTEST: usize = 16;

/// Rights and name of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Name.
    pub name: String,
    /// Whether it may only look.
    pub is_read_only: bool,
}

/// All tokens.
#[derive(Clone)]
pub struct Tokens(Vec<(String, Holder)>);

impl Tokens {
    /// Reads a file that others cannot read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |e| format!("http: cannot read {}: {}", path.display(), io_text(&e));
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(format!("http: {} is world-readable: chmod o=", path.display()));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text).map_err(|why| format!("http: {}{why}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace().peekable();
            let Some(token) = words.next() else { continue };
            if token.len() < SHORTEST {
                return Err(format!(":{}: a token needs at least {SHORTEST} characters", at + 1));
            }
            let is_read_only = words.next_if_eq(&"read-only").is_some();
            let name = words.collect::<Vec<_>>().join(" ");
            let name = if name.is_empty() { format!("token {}", all.len() + 1) } else { name };
            all.push((token.to_owned(), Holder { name, is_read_only }));
        }
        if all.is_empty() { Err(": no tokens".to_owned()) } else { Ok(Self(all)) }
    }

    /// Makes one up and writes it to a file that only its owner can read.
    pub fn make(path: &Path) -> Result<Self, String> {
        let failed = |e| format!("http: cannot write {}: {}", path.display(), io_text(&e));
        let mut random = [0; 24];
        fs::File::open("/dev/urandom")
            .and_then(|mut f| f.read_exact(&mut random))
            .map_err(failed)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // Not into a file that another program may have open.
        let _ = fs::remove_file(path);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        file.and_then(|mut f| writeln!(f, "{token}")).map_err(failed)?;
        let name = "the token of this start".to_owned();
        Ok(Self(vec![(token, Holder { name, is_read_only: false })]))
    }

    /// The holder of a token. The time it takes says nothing about how much of it is right.
    pub fn holder(&self, token: &str) -> Option<&Holder> {
        let is_same = |other: &str| bool::from(other.as_bytes().ct_eq(token.as_bytes()));
        let mut found = None;
        for (other, holder) in &self.0 {
            if is_same(other) {
                found = Some(holder);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_holders() {
        let text = "# of the house\n0123456789abcdef\n\nabcdefabcdefabcdef read-only the wall\n\
                    zzzzzzzzzzzzzzzzzzzz Ada # her own\n";
        let all = Tokens::parse(text).unwrap();
        let holder = |token: &str| all.holder(token).map(|h| (h.name.as_str(), h.is_read_only));
        assert_eq!(holder("0123456789abcdef"), Some(("token 1", false)));
        assert_eq!(holder("abcdefabcdefabcdef"), Some(("the wall", true)));
        assert_eq!(holder("zzzzzzzzzzzzzzzzzzzz"), Some(("Ada", false)));
        for wrong in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0"] {
            assert_eq!(holder(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn files_without_a_good_token_are_refused() {
        let why = |text: &str| Tokens::parse(text).err().unwrap();
        assert_eq!(why("# nothing\n"), ": no tokens");
        assert_eq!(why("\nshort\n"), ":2: a token needs at least 16 characters");
    }

    #[test]
    fn files_of_everybody_are_refused_and_those_made_are_the_owners() {
        let path = std::env::temp_dir().join(format!("http-token-{}", std::process::id()));
        let made = Tokens::make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let token = fs::read_to_string(&path).unwrap();
        assert_eq!(token.trim().len(), 48);
        assert!(made.holder(token.trim()).is_some());
        assert!(Tokens::read(&path).unwrap().holder(token.trim()).is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Tokens::read(&path).err().unwrap().contains("is world-readable"));
        fs::remove_file(&path).unwrap();
    }
}
