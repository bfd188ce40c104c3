//! Plain English: openings and phrases that STYLE.md rules out, with a better wording for each.
//!
//! They are checked in help, messages, references, the manual, READMEs, pages and comments.

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::Finding;
use crate::source::Source;
use crate::tree::{File, Tree};

/// Phrases in lower case, whole words, and what to write instead. `^` is for openings: of doc
/// comments, help texts and descriptions.
const BANNED: &[(&str, &str)] = &[
    ("^what", "name the thing: `pending offloads`, `packets dropped`"),
    ("^who", "name the thing: `sources of a route`, `subscribers`"),
    ("^whom", "name the thing"),
    ("^has", "a verb: `removes`, `starts`, `notifies`; `whether` for a boolean"),
    ("^have", "a verb: `enable`, `forward`, `wait`"),
    ("^let", "a verb: `allow`, `enable`"),
    ("^it is", "name the thing: `reply to ...`, `true if ...`"),
    ("^they are", "name the thing"),
    ("^is it", "`whether ...`"),
    ("or no longer", "`enable or disable`, `add or remove`, or leave it out"),
    ("or not any more", "`enable or disable`"),
    ("no longer there", "`deleted`, `closed`"),
    ("not there", "`missing`, `does not exist`"),
    ("it is there", "`exists`, or name the thing"),
    ("told", "`configured`, `notified`, `distinguished`"),
    ("nobody", "name the thing that is missing: `no client`, `no route`"),
    ("nobody's", "name the thing that is missing"),
    ("somebody", "name it: a client, a peer, an operator"),
    ("somebody's", "name it: a client, a peer, an operator"),
    ("whoever", "name it: the caller, the sender"),
    ("who wants", "`subscribers`, `users of`"),
    ("who asks", "`the caller`, `the client`"),
    ("who is", "name it: the sender, the owner"),
    ("who has", "name it: the owner, the holder"),
    ("comes in", "`is received`"),
    ("come in", "`are received`"),
    ("came in", "`was received`"),
    ("goes out", "`is sent`"),
    ("go out", "`are sent`"),
    ("went out", "`was sent`"),
    ("take it away", "`delete`, `remove`"),
    ("takes it away", "`deletes`, `removes`"),
    ("take them away", "`delete`, `remove`"),
    ("taken away", "`deleted`, `removed`"),
    ("carry out", "`run`"),
    ("carries out", "`runs`"),
    ("carried out", "`run`, `applied`"),
    ("anew", "`again`"),
    ("that is for", "`addressed to`, `matching`"),
    ("hears of", "`is notified of`, `learns`"),
    ("heard of", "`learned`, `known`"),
    ("on the way in", "`on receive`, `inbound`"),
    ("on the way out", "`on transmit`, `outbound`"),
    ("what comes next", "`what you can type next`, `the next word`"),
    ("becomes of", "`happens to`"),
    ("what there is", "list it, or `existing`"),
    ("there is of", "name the thing"),
    ("all there is", "`everything`"),
    ("gone by", "`expired`, `elapsed`"),
    ("^in words", "`formatted for operators`, `the name of ...`"),
    ("of who", "name it: `of the sender`, `of the owner`"),
    ("to who", "name it: `to the receiver`, `to the handler`"),
    ("for who", "name it: `for the caller`, `for display`"),
    ("by who", "name it: `by the owner`, `by the node`"),
    ("for ever", "`forever`"),
    ("in vain", "`without success`, `without effect`"),
    ("looks whether", "`checks whether`"),
    ("look whether", "`check whether`"),
    ("looked whether", "`checked whether`"),
    ("does what is due", "`runs due actions`"),
    ("to be mended", "`to be repaired`"),
    ("left to chance", "`random`"),
    ("signs of life", "`keepalives`"),
    ("sign of life", "`a keepalive`"),
    ("base 16", "`hexadecimal`"),
    ("that is there", "`existing`, `that exists`, `that has arrived`"),
    ("that are there", "`existing`, `that exist`, `that have arrived`"),
];

/// Where a passage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    /// References made from help texts and descriptions.
    Reference,
    /// Literals in code: messages and output.
    Message,
    /// The manual and the README.
    Manual,
    /// Doc comments and comments.
    Comment,
    /// READMEs of crates and other pages.
    Page,
}

/// A line of prose; `opens` if it is the first of its paragraph.
struct Passage<'a> {
    area: Area,
    line: usize,
    opens: bool,
    text: &'a str,
}

/// Prints findings and their number by area; fails if there is any.
pub fn report(tree: &Tree) -> ExitCode {
    let all = findings(tree);
    let mut areas: BTreeMap<Area, usize> = BTreeMap::new();
    for (area, finding) in &all {
        *areas.entry(*area).or_default() += 1;
        println!("{finding}");
    }
    println!("words: {} findings {areas:?}", all.len());
    if all.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn findings(tree: &Tree) -> Vec<(Area, Finding)> {
    let own = "tools/xtask/src/english.rs";
    let sources = tree.sources.iter().filter(|source| source.path != own);
    let code = sources.flat_map(|source| check(&source.path, code(source)));
    let pages = tree.files.iter().flat_map(|file| check(&file.path, page(file)));
    code.chain(pages).collect()
}

fn check(path: &str, passages: Vec<Passage<'_>>) -> Vec<(Area, Finding)> {
    let mut found = Vec::new();
    for passage in passages {
        let text = plain(passage.text);
        for (banned, instead) in BANNED {
            let is_in = match banned.strip_prefix('^') {
                Some(opening) => passage.opens && text.starts_with(&format!(" {opening} ")),
                None => text.contains(&format!(" {banned} ")),
            };
            if is_in {
                let banned = banned.trim_start_matches('^');
                let finding =
                    Finding::new(path, passage.line + 1, format!("`{banned}`: {instead}"));
                found.push((passage.area, finding));
            }
        }
    }
    found
}

/// Words in lower case with one blank between and around them, without code in backquotes.
fn plain(text: &str) -> String {
    let mut plain = String::from(" ");
    for part in text.split('`').step_by(2) {
        for c in part.chars().flat_map(char::to_lowercase) {
            if c.is_alphanumeric() || "'-_".contains(c) {
                plain.push(c);
            } else if !plain.ends_with(' ') {
                plain.push(' ');
            }
        }
    }
    plain.push(' ');
    plain
}

/// Comments, and literals outside tests.
fn code(source: &Source) -> Vec<Passage<'_>> {
    let mut last_doc = None;
    let mut passages = Vec::new();
    for (line, text) in source.passages() {
        if text.starts_with("//") {
            let is_doc = text.starts_with("///") || text.starts_with("//!");
            let opens = is_doc && last_doc.is_none_or(|last| last + 1 != line);
            last_doc = is_doc.then_some(line);
            let text = text.trim_start_matches(['/', '!']);
            passages.push(Passage { area: Area::Comment, line, opens, text });
        } else if !source.is_test_line(line) && text.contains(' ') {
            passages.push(Passage { area: Area::Message, line, opens: false, text });
        }
    }
    passages
}

/// The prose of a page, without blocks of code; of a JSON file the descriptions.
fn page(file: &File) -> Vec<Passage<'_>> {
    let is_json = file.path == "docs/reference/openapi.json";
    if !file.path.ends_with(".md") && !is_json {
        return Vec::new();
    }
    let area = match &*file.path {
        path if path.starts_with("docs/reference/") && !path.ends_with("conformance.md") => {
            Area::Reference
        }
        path if path.starts_with("docs/") || path == "README.md" => Area::Manual,
        _ => Area::Page,
    };
    let mut is_code = false;
    let mut passages = Vec::new();
    for (line, text) in file.text.lines().enumerate() {
        is_code ^= text.starts_with("```");
        let described = text.split_once("\"description\": \"").map(|(_, text)| text);
        let text = if is_json { described } else { Some(text) };
        let Some(text) = text.filter(|text| !is_code && !text.starts_with("    ") || is_json)
        else {
            continue;
        };
        let item =
            text.split_once("`: ").or(text.rsplit_once("| ").filter(|_| text.ends_with('|')));
        let text = item.map_or(text, |(_, text)| text);
        passages.push(Passage { area, line, opens: area == Area::Reference, text });
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(Area, usize)> {
        let all = findings(&Tree::of(files));
        all.iter().map(|(area, finding)| (*area, finding.line)).collect()
    }

    #[test]
    fn openings_are_those_of_doc_comments() {
        let text =
            "/// What it does.\n/// what it does\nfn a() {} // what\n\n/// Has it\nfn b() {}\n";
        assert_eq!(found(&[("x/src/a.rs", text)]), [(Area::Comment, 1), (Area::Comment, 5)]);
    }

    #[test]
    fn phrases_are_whole_words_outside_code() {
        let text = "The retold\nIt was Told, twice.\n`told`\n```\ntold\n```\n";
        assert_eq!(found(&[("docs/a.md", text)]), [(Area::Manual, 2)]);
    }

    #[test]
    fn clauses_without_a_noun_are_found_but_not_names_of_things() {
        let text = "Belongs to who owns it\nBelongs to those who own it\nAll that is there\n";
        assert_eq!(found(&[("docs/a.md", text)]), [(Area::Manual, 1), (Area::Manual, 3)]);
    }

    #[test]
    fn messages_are_literals_outside_tests() {
        let text =
            "fn a() { b(\"nobody\", \"no, nobody\") }\n#[cfg(test)]\nmod t { \"nobody is\" }\n";
        assert_eq!(found(&[("x/src/a.rs", text)]), [(Area::Message, 1)]);
    }

    #[test]
    fn items_of_references_open() {
        let text = "- `a` 0x1: x\n- `up`: have it up\n| `f` | `u8` |  | what it is |\n";
        let found = found(&[("docs/reference/commands.md", text)]);
        assert_eq!(found, [(Area::Reference, 2), (Area::Reference, 3)]);
    }
}
