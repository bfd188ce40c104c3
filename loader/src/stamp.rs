//! The stamp of a shared object: the note in its section `.note.ferrovia`, read from the file
//! (ELF-64, `elf(5)`) before anything of it runs.
#![forbid(unsafe_code)]

use std::path::Path;

use ferrovia_sdk::abi;

/// The stamp of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// The version of the router that it is for; empty for any.
    pub router: String,
    /// One line about it.
    pub about: String,
    /// Features that it requires.
    pub needs: Vec<String>,
}

/// Names in an ELF file that are looked for.
const NAMES: usize = 64;

/// Reads the stamp of a file and checks that this router can load it, but for its version.
///
/// # Errors
/// What is wrong, in words.
pub fn read(path: &Path) -> Result<Stamp, String> {
    let bytes = std::fs::read(path).map_err(|e| control::cli::io_text(&e))?;
    let elf = Elf::of(&bytes)?;
    let note = elf.section(abi::SECTION).ok_or("not a plugin: no ELF note")?;
    let stamp = parse(note).ok_or("its ELF note is invalid")??;
    if !elf.defines(abi::START) {
        return Err(format!("it does not define {}", abi::START));
    }
    Ok(stamp)
}

/// The stamp in a note; `None` when it is too short.
fn parse(note: &[u8]) -> Option<Result<Stamp, String>> {
    let owner = note.get(12..24)?;
    if owner != abi::OWNER {
        return Some(Err("its ELF note belongs to another program".to_owned()));
    }
    let (version, table) = (word(note, 24)?, word(note, 28)? as usize);
    if version != abi::ABI {
        let ours = abi::ABI;
        let why = format!("it is for version {version} of the interface, the router has {ours}");
        return Some(Err(why));
    }
    if table > size_of::<abi::Host>() {
        let why =
            "it is built with a newer SDK: its table of functions is longer than the router's";
        return Some(Err(why.to_owned()));
    }
    let mut at = 32;
    let mut text = |len: usize| {
        let field = note.get(at..at + len)?;
        at += len;
        let end = field.iter().position(|b| *b == 0)?;
        std::str::from_utf8(&field[..end]).ok().map(str::to_owned)
    };
    let (name, version, router) = (text(32)?, text(32)?, text(32)?);
    let (about, needs) = (text(128)?, text(128)?);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Some(Err(format!("`{name}' is not a plugin name")));
    }
    let needs = needs.split_whitespace().map(str::to_owned).collect();
    Some(Ok(Stamp { name, version, router, about, needs }))
}

/// An ELF file of this machine.
struct Elf<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
}

struct Section {
    name: u32,
    kind: u32,
    start: usize,
    len: usize,
    link: u32,
}

/// Kind of a section with symbols for the dynamic linker.
const DYNSYM: u32 = 11;
/// Machine of this program, as ELF numbers it.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };

impl<'a> Elf<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") || half(bytes, 16) != Some(3) {
            return Err("not a shared object".to_owned());
        }
        if half(bytes, 18) != Some(MACHINE) {
            return Err("it is for another processor".to_owned());
        }
        let sections = Self::sections(bytes).ok_or("its sections are invalid")?;
        Ok(Self { bytes, sections })
    }

    fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
        let (start, size) = (long(bytes, 40)?, usize::from(half(bytes, 58)?));
        let section = |number: u16| {
            let at = start.checked_add(usize::from(number) * size)?;
            Some(Section {
                name: word(bytes, at)?,
                kind: word(bytes, at.checked_add(4)?)?,
                start: long(bytes, at.checked_add(24)?)?,
                len: long(bytes, at.checked_add(32)?)?,
                link: word(bytes, at.checked_add(40)?)?,
            })
        };
        (0..half(bytes, 60)?).map(section).collect()
    }

    fn bytes_of(&self, section: &Section) -> Option<&'a [u8]> {
        self.bytes.get(section.start..section.start.checked_add(section.len)?)
    }

    /// The bytes of the section of this name.
    fn section(&self, name: &str) -> Option<&'a [u8]> {
        let names = self.sections.get(usize::from(half(self.bytes, 62)?))?;
        let names = self.bytes_of(names)?;
        let is_it = |s: &&Section| text(names, s.name) == Some(name);
        self.bytes_of(self.sections.iter().find(is_it)?)
    }

    /// Whether it defines a symbol for others.
    fn defines(&self, name: &str) -> bool {
        let symbols = self.sections.iter().filter(|s| s.kind == DYNSYM);
        symbols.into_iter().any(|symbols| {
            let names = self.sections.get(symbols.link as usize);
            let names = names.and_then(|names| self.bytes_of(names)).unwrap_or_default();
            self.bytes_of(symbols).unwrap_or_default().chunks_exact(24).any(|symbol| {
                let is_defined = half(symbol, 6).is_some_and(|section| section != 0);
                is_defined && word(symbol, 0).and_then(|at| text(names, at)) == Some(name)
            })
        })
    }
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn half(from: &[u8], at: usize) -> Option<u16> {
    bytes(from, at).map(u16::from_le_bytes)
}

fn word(from: &[u8], at: usize) -> Option<u32> {
    bytes(from, at).map(u32::from_le_bytes)
}

fn long(from: &[u8], at: usize) -> Option<usize> {
    usize::try_from(bytes(from, at).map(u64::from_le_bytes)?).ok()
}

/// The text that begins at a place among names, when it is not longer than those looked for.
fn text(names: &[u8], at: u32) -> Option<&str> {
    let names = names.get(at as usize..)?;
    let names = &names[..names.len().min(NAMES)];
    std::str::from_utf8(&names[..names.iter().position(|b| *b == 0)?]).ok()
}
