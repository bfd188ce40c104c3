//! Bindings for client libraries, written from the descriptions of the binary API.
#![forbid(unsafe_code)]

mod c;
mod model;
mod python;
mod rust;

pub use model::{Answer, Body, Count, Declaration, Field, Message, Model, Type};

/// Folder of the descriptions in this repository.
pub const DESCRIPTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/api");

/// A language that messages are written in.
pub struct Language {
    /// Name on the command line.
    pub name: &'static str,
    /// The file that is written.
    pub file: &'static str,
    /// Makes its text.
    pub write: fn(&Model) -> String,
}

/// All of them.
pub const LANGUAGES: [Language; 3] = [
    Language { name: "c", file: "ferrovia_messages.h", write: c::write },
    Language { name: "python", file: "messages.py", write: python::write },
    Language { name: "rust", file: "messages.rs", write: rust::write },
];

/// `ip_route_add_del` as `IpRouteAddDel`.
fn camel(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(word).collect()
}
