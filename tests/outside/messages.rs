//! Messages, their types and CRCs are what clients of the original know.
//!
//! `FERROVIA_REFERENCE` names a folder with `spec/api/{core,plugins}/*.api.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use control::api::files;
use serde_json::Value;
use tests::skip;

/// Without what is said for people only.
fn bare(value: &Value) -> Value {
    match value {
        Value::Array(parts) => {
            let is_kept = |part: &&Value| !part.as_object().is_some_and(|o| o.is_empty());
            parts.iter().map(bare).filter(|part| is_kept(&part)).collect()
        }
        Value::Object(pairs) => {
            let kept = pairs.iter().filter(|(key, _)| !["comment", "vat_help"].contains(&&***key));
            Value::Object(kept.map(|(key, value)| (key.clone(), bare(value))).collect())
        }
        other => other.clone(),
    }
}

/// What has a name, by kind and name.
fn by_name(file: &Value) -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for kind in ["messages", "types", "unions", "enums", "enumflags"] {
        for item in file[kind].as_array().into_iter().flatten() {
            let name = item[0].as_str().unwrap_or_default().to_owned();
            found.insert((kind.to_owned(), name), bare(item));
        }
    }
    for kind in ["aliases", "services"] {
        for (name, item) in file[kind].as_object().into_iter().flatten() {
            found.insert((kind.to_owned(), name.clone()), bare(item));
        }
    }
    found
}

#[test]
fn messages_and_their_types_are_the_originals() {
    let parts = crate::parts();
    let mut api = parts.api;
    api.finish(&parts.router.clients).unwrap();
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no declarations to compare with");
        return;
    };
    let mut wrong = Vec::new();
    for file in files(&api) {
        let path = Path::new(&reference).join("spec/api").join(&file.path);
        let Ok(text) = fs::read_to_string(&path) else {
            wrong.push(format!("{}: the original has no such file", file.path));
            continue;
        };
        let known: Value = serde_json::from_str(&text).unwrap();
        let version = &file.json["options"]["version"];
        if !version.is_null() && *version != known["options"]["version"] {
            let (path, theirs) = (&file.path, &known["options"]["version"]);
            wrong.push(format!("{path}: version {version}, the original's is {theirs}"));
        }
        let known = by_name(&known);
        for (key, ours) in by_name(&file.json) {
            if known.get(&key) != Some(&ours) {
                let theirs = known.get(&key).map_or("none".to_owned(), Value::to_string);
                wrong.push(format!("{} {key:?}:\n  ours   {ours}\n  theirs {theirs}", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
