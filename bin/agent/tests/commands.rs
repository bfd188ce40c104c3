//! The program without a store: what it prints and refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("agent-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn agent(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferrovia-agent")).args(words).output().unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn unknown_words_are_named_and_end_with_2() {
    for words in [&["nonsense"][..], &["run", "nonsense"], &["put"], &["run", "--nonsense"], &[]] {
        let output = agent(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", error(&output));
        let word = words.last().filter(|w| w.contains("nonsense")).copied().unwrap_or("Usage");
        assert!(error(&output).contains(word), "{words:?}: {}", error(&output));
    }
    let help = agent(&["--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("put-set"));
}

#[test]
fn names_are_words() {
    for words in [&["roles", "x; y"][..], &["get", "a/config/b"], &["put-set", "/tmp", ""]] {
        let output = agent(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", error(&output));
        assert!(error(&output).contains("letters, digits"), "{words:?}: {}", error(&output));
    }
}

#[test]
fn wrong_settings_are_named_with_their_file() {
    let folder = Folder::new("settings");
    let missing = folder.0.join("missing");
    let output = agent(&["-c", text(&missing), "run"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains(text(&missing)), "{}", error(&output));
    let wrong = folder.write("agent.conf", "agent { nonsense 1 }\n");
    let output = agent(&["-c", text(&wrong), "run"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains("nonsense"), "{}", error(&output));
}

#[test]
fn keys_are_private_and_never_overwritten() {
    let folder = Folder::new("keys");
    let file = folder.0.join("key");
    let made = agent(&["new-key", "--file", text(&file)]);
    assert!(made.status.success(), "{}", error(&made));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let public = agent(&["public-key", "--file", text(&file)]);
    assert_eq!(public.stdout, made.stdout);
    let before = fs::read(&file).unwrap();
    let again = agent(&["new-key", "--file", text(&file)]);
    assert_eq!(again.status.code(), Some(1));
    assert!(error(&again).contains(text(&file)), "{}", error(&again));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn rights_are_printed_without_a_store() {
    let folder = Folder::new("roles");
    let etcd = "etcd { endpoints http://127.0.0.1:1 prefix /t }";
    let file = folder.write("agent.conf", &format!("agent {{ {etcd} name r1 }}\n"));
    let output = agent(&["-c", text(&file), "roles", "r2"]);
    assert!(output.status.success(), "{}", error(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("etcdctl") && text.contains("/t") && text.contains("r2"), "{text}");
}
