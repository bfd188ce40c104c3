use super::*;
use crate::cli::Cli;

const NOW: Duration = Duration::from_millis(1_795_294_686_617);

fn put(class: &Logger, level: Level, text: &str, now: Duration) {
    class.log.0.borrow_mut().log(class.class, level, &text, now);
}

#[test]
fn an_entry_prints_as_clients_expect() {
    let log = Log::new();
    put(&log.class("plugin", "load"), Level::Notice, "Plugin disabled (default): x.so", NOW);
    assert_eq!(
        log.entries()[0].to_string(),
        "2026/11/21 20:58:06:617 notice     plugin/load    Plugin disabled (default): x.so"
    );
}

#[test]
fn levels_and_size_bound_what_is_kept() {
    let log = Log::new();
    let class = log.class("a", "b");
    let mut cli: Cli<()> = Cli::new();
    log.register(&mut cli);
    put(&class, Level::Info, "below the level", NOW);
    assert!(log.entries().is_empty());

    assert_eq!(cli.run(&mut (), "set logging class a/b level debug").text(), "");
    assert_eq!(cli.run(&mut (), "set logging size 2").text(), "");
    for text in ["1", "2", "3"] {
        put(&class, Level::Debug, text, NOW);
    }
    let texts: Vec<_> = log.entries().into_iter().map(|e| e.text).collect();
    assert_eq!(texts, ["2", "3"]);
    assert!(cli.run(&mut (), "show log").text().ends_with(" debug      a/b            3\n"));
    assert_eq!(cli.run(&mut (), "cl log").text(), "");
    assert_eq!(cli.run(&mut (), "show log").text(), "");
    assert_eq!(
        cli.run(&mut (), "set logging class x level debug").text(),
        "set logging class: unknown log class `x level debug'\n"
    );
}

#[test]
fn a_class_that_logs_too_much_is_cut_off() {
    let log = Log::new();
    let set = ClassLevel { rate_limit: Some(2), ..ClassLevel::default() };
    let config = Logging { classes: vec![("a".into(), set)], ..Logging::default() };
    log.configure(&config);
    let class = log.class("a", "b");
    for _ in 0..5 {
        put(&class, Level::Notice, "again", NOW);
    }
    assert_eq!(log.entries().len(), 2);
    put(&class, Level::Notice, "later", NOW + Duration::from_secs(2));
    assert_eq!(log.entries().len(), 2, "still cut off");
    put(&class, Level::Notice, "later", NOW + Duration::from_secs(4));
    let texts: Vec<_> = log.entries().into_iter().map(|e| e.text).collect();
    assert_eq!(texts[2..], ["4 messages were not logged because of the rate limit", "later"]);
}

#[test]
fn no_text_begins_an_entry_of_its_own() {
    let log = Log::new();
    log.class("ours", "default").warn("x\n2026/11/28 error main/fake down\u{1b}[2J");
    let entry = log.0.borrow().entries.back().unwrap().text.clone();
    assert_eq!(entry, "x\n  2026/11/28 error main/fake down?[2J");
}

#[test]
fn the_configuration_prints_as_clients_expect() {
    let log = Log::new();
    log.class("plugin", "other");
    log.class("ours", "default");
    let mut cli: Cli<()> = Cli::new();
    log.register(&mut cli);
    assert_eq!(cli.run(&mut (), "set logging class ip level debug rate-limit 100").text(), "");
    assert_eq!(cli.run(&mut (), "set logging class dev/pci syslog-level info").text(), "");
    let text = cli.run(&mut (), "show logging configuration").text();
    let start = "Buffer Size:         512 entries
Defaults:
  Log Level:         notice
  Syslog Log Level:  warn
  Kmsg Log Level:    disabled
  Rate Limit:        50 msgs/sec

Class/Subclass         Level          Syslog Level   Kmsg Log Level Rate Limit
plugin
  load                 notice         warn           disabled       2147483647
  other                notice         warn           disabled       50
vfio
  default              notice         warn           disabled       50
";
    assert!(text.starts_with(start), "{text}");
    for part in [
        "\nip
  pmtu                 debug          warn           disabled       100
  neighbor             debug          warn           disabled       100
bfd\n",
        "  counters             notice         warn           disabled       50
  config               notice         warn           disabled       50
  pci                  notice         info           disabled       50
  api                  notice         warn           disabled       50
crypto\n",
        "\nip4\n  neighbor             notice         warn           disabled       50\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let end = "vat-plug
  load                 notice         warn           disabled       2147483647
ours
  default              notice         warn           disabled       50
";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn an_entry_can_be_written_by_hand() {
    let log = Log::new();
    let mut cli: Cli<()> = Cli::new();
    log.register(&mut cli);
    let tell = |line: &str| cli.run(&mut (), line).text();
    assert_eq!(tell("test log notice fib entry two words"), "");
    assert_eq!(tell("test log debug fib entry below the level"), "");
    for (line, error) in [
        ("notice nosuch entry x", "unknown log class `nosuch entry x'"),
        ("notice fib nosuch x", "unknown log class `fib nosuch x'"),
        ("loud fib entry x", "invalid level `loud fib entry x'"),
        ("disabled fib entry x", "`disabled' is not the severity of an entry"),
        ("notice fib entry", "missing text"),
    ] {
        assert_eq!(tell(&format!("test log {line}")), format!("test log: {error}\n"));
    }
    let entries = log.entries();
    assert_eq!(entries.len(), 1);
    assert_eq!((&*entries[0].class, &*entries[0].text), ("fib/entry", "two words"));
}

#[test]
fn a_file_gets_every_entry() {
    let path = std::env::temp_dir().join(format!("control-log-{}", std::process::id()));
    let log = Log::new();
    log.write_to(&path).unwrap();
    log.class("a", "b").notice("hello");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.ends_with("a/b            hello\n"));
}
