//! Startup files as operators have them (`tests/startup`) are checked and started; ignored words
//! are reported, and `--check` finds mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tests::{Daemon, eventually, program, unique};

/// A folder of a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(unique());
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    /// Writes a file, with this folder in place of `DIR`.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text.replace("DIR", self.0.to_str().unwrap())).unwrap();
        path
    }
    /// Names of all that is in it.
    fn names(&self) -> BTreeSet<String> {
        let files = fs::read_dir(&self.0).unwrap().flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Result of `ferrovia --check`: whether it is well, and what it says.
fn check(file: &Path) -> (bool, String) {
    let checked = Command::new(program("ferrovia")).arg("--check").arg("-c").arg(file).output();
    let Output { status, stderr, .. } = checked.unwrap();
    (status.success(), String::from_utf8(stderr).unwrap())
}

/// Numbers of lines that are noted, wherever they are in a text.
fn noted(text: &str) -> BTreeSet<usize> {
    let number = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        rest[digits.len()..].starts_with(": ").then(|| digits.parse().ok())?
    };
    let lines = text.lines().filter(|line| line.contains("has no effect"));
    lines.filter_map(|line| number(line.split("line ").nth(1)?)).collect()
}

#[test]
fn public_files_start_and_what_has_no_effect_is_said() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/startup"));
    let mut count = 0;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    for file in fs::read_dir(corpus).unwrap().flatten().map(|file| file.path()) {
        if file.extension().is_none_or(|ending| ending != "conf") {
            continue;
        }
        let name = file.file_stem().unwrap().to_str().unwrap();
        let folder = Folder::new();
        let setup = file.with_extension("setup");
        if setup.exists() {
            folder.write(&format!("{name}.setup"), &fs::read_to_string(&setup).unwrap());
        }
        let mut text = fs::read_to_string(&file).unwrap();
        if cpus < 2 {
            text = text.replace("  corelist-workers 1\n", "\n");
        }
        let conf = folder.write("startup.conf", &text);
        let before = folder.names();
        let (is_well, said) = check(&conf);
        assert!(is_well, "{name}: {said}");
        assert_eq!(folder.names(), before, "{name}: a check touches nothing");
        let marked = text.lines().enumerate().filter(|(_, line)| line.ends_with("# no effect"));
        let marked: BTreeSet<_> = marked.map(|(at, _)| at + 1).collect();
        assert_eq!(noted(&said), marked, "{name}: {said}");

        let daemon = Daemon::start_file(folder.0.clone(), &conf);
        let ready = || daemon.ask("show version").is_ok;
        assert!(eventually(ready), "{name}");
        let health = daemon.tell("show health");
        let missing: Vec<_> = noted(&health).difference(&marked).copied().collect();
        assert!(missing.is_empty() && !noted(&health).is_empty(), "{name}: {health}");
        let files = health.lines().filter(|line| line.contains(".setup"));
        assert_eq!(files.count(), 0, "{name}: {health}");
        let log = daemon.tell("show logging");
        assert_eq!(noted(&log), marked, "{name}: {log}");
        let errors = health.lines().filter(|l| l.starts_with("error") && !l.contains("answer"));
        assert_eq!(errors.collect::<Vec<_>>(), [""; 0], "{name}");
        count += 1;
    }
    assert!(count >= 7, "{count} files");
}

/// The result of a check of a configuration, and whether the start fails with the same words.
fn refused(text: &str) -> String {
    let folder = Folder::new();
    let conf = folder.write("startup.conf", text);
    let before = folder.names();
    let (is_well, said) = check(&conf);
    assert!(!is_well, "{text}: {said}");
    assert_eq!(folder.names(), before, "{text}");
    let started = Command::new(program("ferrovia")).arg("-c").arg(&conf).output().unwrap();
    assert_eq!(started.status.code(), Some(1), "{text}");
    let start = String::from_utf8(started.stderr).unwrap();
    let last = |said: &str| said.lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&said), last(&start), "{text}");
    said.replace(folder.0.to_str().unwrap(), "DIR")
}

#[test]
fn a_check_fails_where_the_start_does() {
    const UNIX: &str = "unix { nodaemon runtime-dir DIR cli-listen DIR/cli.sock }";
    for (text, why) in [
        ("unix { nodaemon runtime-dir DIR gid nosuchgroup }", "no group nosuchgroup"),
        ("unix { nodaemon runtime-dir DIR capabilities cap_nosuch }", "capabilities: "),
        (
            "unix { nodaemon runtime-dir DIR cli-listen DIR/a/cli.sock }",
            "cannot listen on DIR/a/cli.sock: No such file or directory",
        ),
        ("unix { nodaemon runtime-dir DIR pidfile DIR/a/pid }", "cannot write pidfile DIR/a/pid: "),
        (
            "unix { nodaemon runtime-dir DIR }\nhttp { lisen 8080 }",
            "(line 2): did you mean `listen'?",
        ),
        (
            "unix { nodaemon runtime-dir DIR }\n\ntcp {\n mtuu 1\n}",
            "'mtuu' in stanza 'tcp' (line 4)",
        ),
        (&format!("{UNIX} cpu {{ scheduler-policy nosuch }}"), "unknown scheduler-policy 'nosuch'"),
        (
            &format!(
                "{UNIX} plugins {{ plugin default {{ disable }} plugin nat {{ enable }} plugin \
                    sessions {{ disable }} }}"
            ),
            "sessions is disabled, but required by nat",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn a_check_names_plugins_that_nobody_has() {
    let folder = Folder::new();
    let text = "unix { nodaemon runtime-dir DIR log DIR/made/log } plugins { plugin \
        nothere_plugin.so { enable } }";
    let conf = folder.write("startup.conf", text);
    let (is_well, said) = check(&conf);
    assert!(is_well && said.contains("no plugin nothere_plugin.so"), "{said}");
    assert!(!folder.0.join("made").exists(), "the file of the log is not made");
}

#[test]
fn a_start_that_failed_is_an_error_of_health() {
    let folder = Folder::new();
    let setup = folder.write("setup", "create loopback interface\nset interface mtu x loop0\n");
    let config = format!(
        "unix {{ startup-config {} }}\ndpdk {{ library {} dev 0000:99:00.0 }}",
        setup.display(),
        folder.0.display()
    );
    let daemon = Daemon::start_with(&config, &[]);
    let health = daemon.tell("show health");
    let place = format!("error    start          {}:2: ", setup.display());
    assert!(health.contains(&place), "{health}");
    assert!(health.contains("error    start          dpdk: "), "{health}");
    assert!(!health.contains("healthy"), "{health}");
    let strict = daemon.fvctl(&["show", "health", "strict"]);
    assert!(!strict.is_ok, "{strict:?}");
    // What runs is what the file means now.
    daemon.tell("save");
    assert!(!daemon.tell("show health").contains(&place));
}

#[test]
fn health_is_silent_about_what_the_start_made() {
    let folder = Folder::new();
    // Other words than `show configuration' has for the same.
    let setup = folder.write(
        "setup",
        "# the uplink\ncreate loopback interface instance 3\nset int state loop3 up\n\
         set interface ip address loop3 192.0.2.1/24\nip route add 10.0.0.0/8 drop\n\
         create sub-interfaces loop3 7\nip route add 10.1.0.0/16 via drop\n",
    );
    let config = format!("unix {{ startup-config {} }}", setup.display());
    let daemon = Daemon::start_with(&config, &[]);
    let health = daemon.tell("show health");
    assert!(health.starts_with("healthy: "), "{health}");
    daemon.tell("ip route add 10.2.0.0/16 drop");
    let health = daemon.tell("show health");
    assert!(health.contains("1 running commands are not in it, and 0 of its"), "{health}");
    daemon.tell("save");
    assert!(daemon.tell("show health").starts_with("healthy: "));
}

#[test]
fn output_is_filtered_and_wrong_words_are_marked() {
    let daemon = Daemon::start(&[
        "create loopback interface instance 1",
        "create loopback interface instance 2",
    ]);
    let lines = daemon.tell("show interface | include ^loop");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert_eq!(daemon.tell("show interface | include ^loop | count"), "2\n");
    let none = daemon.fvctl(&["show", "interface", "|", "exclude", ".", "|", "no-more"]);
    assert_eq!((none.is_ok, none.text.as_str()), (true, ""));
    let wrong = daemon.fvctl(&["show", "interface", "|", "include"]);
    assert_eq!(wrong.error.lines().next(), Some("include needs a pattern"));
    let json: serde_json::Value =
        serde_json::from_str(&daemon.fvctl(&["-j", "show interface | count"]).text).unwrap();
    assert!(json.is_number(), "{json}");
    assert_eq!(daemon.fvctl(&["-j", "show ip neighbors"]).text.trim(), "[]");

    for (line, word) in [
        ("ip route add 10.0.0.0/8 via 198.51.100.254 loop1 wieght 4", "wieght"),
        ("ip route add 10.0.0.0/8 via 198.51.100.254 lop1", "lop1"),
        ("ip route add 10.0.0.0/33 via loop1", "10.0.0.0/33"),
        ("set interface state loop3 up", "loop3"),
        ("set interface state loop1 dwon", "dwon"),
        ("set interface ip address loop1 10.0.0.1/33", "10.0.0.1/33"),
    ] {
        let error = daemon.ask(line).error;
        let lines: Vec<_> = error.lines().collect();
        assert_eq!(lines.get(1).map(|l| l.trim()), Some(line), "{error}");
        let at = lines[1].find(&format!(" {word}")).unwrap() + 1;
        assert_eq!(lines[2], " ".repeat(at) + &"^".repeat(word.len()), "{error}");
    }
    let meant = daemon.ask("ip route add 10.0.0.0/8 via 198.51.100.254 loop1 wieght 4").error;
    assert!(meant.contains("(did you mean `weight'?)"), "{meant}");
}

#[test]
fn the_client_waits_as_long_as_it_is_told() {
    let daemon = Daemon::start(&[]);
    daemon.signal(rustix::process::Signal::STOP);
    let answer = daemon.fvctl_command().args(["-t", "1", "show", "version"]).output().unwrap();
    daemon.signal(rustix::process::Signal::CONT);
    let error = String::from_utf8(answer.stderr).unwrap();
    assert_eq!(answer.status.code(), Some(2), "{error}");
    assert!(error.contains("no answer within 1 s"), "{error}");
    for wrong in
        [&["--bogus"][..], &["-x", "show", "version"], &["--timeout", "x", "show", "version"]]
    {
        let output = daemon.fvctl_command().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{wrong:?}");
    }
}

/// A file of the original's words (`FERROVIA_REFERENCE/spec/startup-words.txt`): a stanza a line,
/// then its words with their values as formats, with tabs between.
#[test]
fn every_word_of_the_original_is_read() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        return tests::skip("FERROVIA_REFERENCE names no list to compare with");
    };
    let list = fs::read_to_string(Path::new(&reference).join("spec/startup-words.txt")).unwrap();
    let values = ["1", "2M", "x", "{ }", "on", "fifo", "notice", "0x2", "0000:01:00.0", "cubic"];
    let (mut refused, mut count) = (Vec::new(), 0);
    for line in list.lines() {
        let (stanza, words) = line.split_once('\t').unwrap_or((line, ""));
        let mut texts: Vec<_> = words.split('\t').filter(|w| !is_value(w)).collect();
        if texts.is_empty() {
            texts.push("");
        }
        for words in texts {
            count += 1;
            let is_read = values.iter().any(|value| {
                let text = match stanza {
                    "plugin_path" | "test_plugin_path" => format!("{stanza} /x"),
                    _ => format!("{stanza} {{ {} }}", filled(words, value)),
                };
                control::config::Config::parse(&text, &[]).is_ok()
            });
            if !is_read {
                refused.push(format!("{stanza} {{ {words} }}"));
            }
        }
    }
    assert!(count > 300, "{count} words");
    assert_eq!(refused, [""; 0]);
}

/// Whether an item of the list is a value alone, or a part of one.
fn is_value(words: &str) -> bool {
    let is_word = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    // Of coredump-size and page-size.
    let values = ["unlimited", "default-hugepage", "default", "coredump-size"];
    !words.split(' ').next().is_some_and(is_word) || values.contains(&words)
}

/// Words with a value in place of each format.
fn filled(words: &str, value: &str) -> String {
    let words = words.replace("-%s", "-workers").replace("%x:%x:%x.%x", "0000:01:00.0");
    let words = words.replace("dev %U %U", "dev x { }");
    let word = |word: &str| match word.find('%') {
        None => word.to_owned(),
        Some(0) if word == "%s" || word == "%v" => "x".to_owned(),
        Some(0) if word == "%U" => value.to_owned(),
        Some(0) => "1".to_owned(),
        Some(at) => word[..at].to_owned() + "1",
    };
    words.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
