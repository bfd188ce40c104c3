//! Manual pages of a terminal: those in `packaging/man`, with what the reference knows where a line
//! says `@commands@` or `@stanzas@`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Writes all pages into a folder.
pub fn write(root: &Path, folder: &Path) -> ExitCode {
    match pages(root, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("man: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pages(root: &Path, folder: &Path) -> io::Result<()> {
    let reference = |name: &str| fs::read_to_string(root.join("docs/reference").join(name));
    let commands = commands(&reference("commands.md")?);
    let stanzas = stanzas(&reference("startup-conf.md")?);
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(root.join("packaging/man"))?.flatten() {
        let text = fs::read_to_string(entry.path())?;
        let text = text.replace("@commands@\n", &commands).replace("@stanzas@\n", &stanzas);
        fs::write(folder.join(entry.file_name()), wrapped(&text))?;
    }
    Ok(())
}

/// The commands of `commands.md`, each with its usage and its words.
fn commands(text: &str) -> String {
    let mut page = String::new();
    for section in text.split("\n### ").skip(1) {
        // The next chapter's name is not the command's.
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut lines = section.lines().filter(|line| !line.is_empty());
        let name = lines.next().unwrap_or_default();
        let about = lines.next().unwrap_or_default();
        let usage = lines.next().unwrap_or_default().trim();
        let (name, about, usage) = (plain(name), plain(about), plain(usage));
        page.push_str(&format!(".Ss {name}\n{about}\n.Pp\n{usage}\n"));
        list(&mut page, lines);
    }
    page
}

/// The stanzas of `startup-conf.md`, each with its words.
fn stanzas(text: &str) -> String {
    let mut page = String::new();
    for section in text.split("\n## ").skip(1) {
        let mut lines = section.lines().filter(|line| !line.is_empty());
        let name = lines.next().unwrap_or_default();
        let about = lines.next().unwrap_or_default();
        page.push_str(&format!(".Ss {}\n{}\n", plain(name), plain(about)));
        list(&mut page, lines);
    }
    page
}

/// A list of items as Markdown has them: words in backquotes, a colon, what they mean.
fn list<'a>(page: &mut String, items: impl Iterator<Item = &'a str>) {
    let mut items = items.filter_map(|line| line.strip_prefix("- `")?.split_once('`')).peekable();
    if items.peek().is_none() {
        return;
    }
    page.push_str(".Bl -tag -width Ds\n");
    for (word, about) in items {
        let about = plain(about.strip_prefix(": ").unwrap_or_default());
        writeln!(page, ".It {}", quoted(word)).expect("writing to a string cannot fail");
        if !about.is_empty() {
            writeln!(page, "{about}").expect("writing to a string cannot fail");
        }
    }
    page.push_str(".El\n");
}

/// Lines of text, not of macros, in lines of at most 78 bytes, a sentence in its own.
fn wrapped(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let mut rest = line.to_owned();
        while !line.starts_with('.') {
            let sentence = rest.find(". ").map(|at| at + 1).filter(|at| *at < 78);
            let fits = rest.len() <= 78;
            let blank = || rest.char_indices().take_while(|(at, _)| *at < 78);
            let blank = || blank().filter(|(_, c)| *c == ' ').map(|(at, _)| at).last();
            let Some(at) = sentence.or_else(|| if fits { None } else { blank() }) else { break };
            writeln!(text, "{}", &rest[..at]).expect("writing to a string cannot fail");
            let after = &rest[at + 1..];
            rest =
                if after.starts_with(['.', '\'']) { format!("\\&{after}") } else { after.into() };
        }
        writeln!(text, "{rest}").expect("writing to a string cannot fail");
    }
    text
}

/// Text that stands at the start of a line, without a meaning for the formatter.
fn plain(text: &str) -> String {
    let text = text.replace("\\<", "<").replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// An argument of a macro: of its words none is a macro itself.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('"', "\\(dq"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_sections_with_lists() {
        let text = "# C\n\n## show\n\n### show it\n\nShow \\<it>\n\n    show it [all]\n\n\
                    - `all`: all\n\n## z\n";
        let page = commands(text);
        let list = ".Bl -tag -width Ds\n.It \"all\"\nall\n.El\n";
        assert_eq!(page, format!(".Ss show it\nShow <it>\n.Pp\nshow it [all]\n{list}"));
    }

    #[test]
    fn nothing_is_taken_for_a_macro() {
        assert_eq!(plain(".x -y\\"), "\\&.x \\-y\\e");
        let page = stanzas("# s\n\n## a\n\nAbout.\n\n- `Fl x`: does\n");
        assert!(page.contains(".It \"Fl x\"\ndoes\n"), "{page}");
    }
}
