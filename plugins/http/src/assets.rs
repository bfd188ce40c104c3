//! The console's files, which are part of the program: no path leads to another file.

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};

use crate::body::{Answer, Content, answer, bytes};

/// Path, type, contents.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("../../../web/dist/index.html")),
    ("/console.js", "text/javascript", include_bytes!("../../../web/dist/console.js")),
    ("/console.css", "text/css", include_bytes!("../../../web/dist/console.css")),
    ("/icon.svg", "image/svg+xml", include_bytes!("../../../web/dist/icon.svg")),
];

/// The file at a path.
pub fn find(path: &str, headers: &HeaderMap) -> Option<Answer> {
    let (_, kind, contents) = ASSETS.iter().find(|(at, ..)| *at == path)?;
    let tag = HeaderValue::from_str(&format!("\"{:016x}\"", fingerprint(contents))).ok()?;
    let is_known = headers.get(IF_NONE_MATCH) == Some(&tag);
    let mut found = match is_known {
        true => answer(StatusCode::NOT_MODIFIED, kind, Content::Whole(None)),
        false => bytes(kind, *contents),
    };
    found.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    found.headers_mut().insert(ETAG, tag);
    Some(found)
}

/// A number that changes with the contents: FNV-1a.
fn fingerprint(contents: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    contents.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), files),
                false => files.push(entry.path()),
            }
        }
    }

    #[test]
    fn the_files_were_built_from_the_sources_that_are_here() {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let mut files = Vec::new();
        ["src", "public"].iter().for_each(|folder| walk(&web.join(folder), &mut files));
        let single = [
            "index.html",
            "package-lock.json",
            "package.json",
            "svelte.config.js",
            "vite.config.ts",
        ];
        files.extend(single.map(|name| web.join(name)));
        let name = |path: &PathBuf| path.strip_prefix(&web).unwrap().to_str().unwrap().to_owned();
        let mut named: Vec<_> = files.iter().map(|path| (name(path), path)).collect();
        named.sort();
        let mut all = Vec::new();
        for (name, path) in named {
            all.extend(format!("{name}\n").bytes());
            all.extend(fs::read(path).unwrap());
        }
        let built = fs::read_to_string(web.join("dist/sources")).unwrap();
        let why = "web/dist is of other sources: cd web && npm install --no-save && npm run build";
        assert_eq!(built.trim(), format!("{:016x}", fingerprint(&all)), "{why}");
    }

    #[test]
    fn pages_load_nothing_from_elsewhere_and_the_lock_names_no_host() {
        let found = |path: &str| find(path, &HeaderMap::new());
        assert!(found("/").is_some() && found("/console.js").is_some());
        for path in ["/index.html", "/../Cargo.toml", "/sources", "", "//"] {
            assert!(found(path).is_none(), "{path}");
        }
        let page = String::from_utf8_lossy(ASSETS[0].2);
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("style="));
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/package-lock.json");
        assert!(!fs::read_to_string(lock).unwrap().contains("\"resolved\""));
    }
}
