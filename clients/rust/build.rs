//! Writes the messages from their descriptions.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed={}", bindings::DESCRIPTIONS);
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let model = bindings::Model::read(bindings::DESCRIPTIONS.as_ref()).expect("descriptions");
    let rust = bindings::LANGUAGES.iter().find(|language| language.name == "rust");
    let rust = rust.expect("Rust is one of the languages");
    std::fs::write(folder.join(rust.file), (rust.write)(&model)).expect("a place to write to");
}
