//! Messages, their types and CRCs are what clients of the original know.
//!
//! `FERROVIA_REFERENCE` names a folder with `spec/api/{core,plugins}/*.api.json`. The router's
//! messages are in `docs/reference/api`, reviewed; `FERROVIA_BLESS=1` updates it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use control::api::{ApiFile, files};
use serde_json::Value;
use tests::skip;

/// The modules that the original does not have.
const OWN: [&str; 3] = ["ferrovia", "firewall", "scheduler"];

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

/// Named definitions, by kind and name.
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

fn described() -> Vec<ApiFile> {
    let parts = crate::parts();
    let mut api = parts.api;
    api.finish(&parts.router.clients).unwrap();
    files(&api)
}

#[test]
fn what_is_offered_is_the_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/api");
    let mut ours = BTreeMap::new();
    for file in described() {
        ours.insert(folder.join(&file.path), file.text());
        let page = file.path.replace(".api.json", ".md");
        ours.insert(folder.join(page), file.page);
    }
    if std::env::var_os("FERROVIA_BLESS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        for (path, text) in &ours {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let different =
        ours.iter().filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(*text));
    let different: Vec<_> = different.map(|(path, _)| path.file_name().unwrap()).collect();
    let how = "after a review: FERROVIA_BLESS=1 cargo test -p tests --test outside messages";
    assert!(different.is_empty(), "changed: {different:?}; {how}");
    let entries = ["core", "plugins"].map(|name| fs::read_dir(folder.join(name)).into_iter());
    let entries = entries.into_iter().flatten().flatten().flatten();
    let gone: Vec<_> = entries.map(|e| e.path()).filter(|path| !ours.contains_key(path)).collect();
    assert!(gone.is_empty(), "no longer offered: {gone:?}; {how}");
}

#[test]
fn messages_and_their_types_are_the_originals() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no declarations to compare with");
        return;
    };
    let mut wrong = Vec::new();
    for file in described() {
        let path = Path::new(&reference).join("spec/api").join(&file.path);
        if OWN.iter().any(|own| file.json["module"] == *own) {
            continue;
        }
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

/// Modules all of whose messages agents want to see before they start.
const CORE: &str = "af_packet arp bond gre interface ip ip6_nd ip_neighbor ipfix_export ipip ipsec \
    l2 memclnt punt rd_cp span sr tapv2 teib vlib vpe vxlan vxlan_gpe";
/// Messages of these that no agent knows yet.
const NEWER: [&str; 5] = [
    "gre_tunnel_dump_reply",
    "gre_tunnel_dump_v2",
    "gre_tunnel_dump_v2_reply",
    "gre_tunnel_details_v2",
    "gre_tunnel_v2_dump_reply",
];

#[test]
fn every_message_that_agents_want_to_see_is_there() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no declarations to compare with");
        return;
    };
    let ours = described();
    let mut missing = Vec::new();
    for module in CORE.split_whitespace() {
        let file = ours.iter().find(|file| file.json["module"] == module).expect(module);
        let text = fs::read_to_string(Path::new(&reference).join("spec/api").join(&file.path));
        let known: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let here = by_name(&file.json);
        let messages = by_name(&known).into_iter().filter(|((kind, _), _)| kind == "messages");
        let absent = messages.filter(|(key, it)| here.get(key) != Some(it));
        missing.extend(absent.map(|((_, name), _)| name).filter(|n| !NEWER.contains(&&**n)));
    }
    assert!(missing.is_empty(), "{missing:?}");
}
