use super::*;
use crate::cli::Cli;

const NOW: Duration = Duration::from_millis(1_795_294_686_617);

fn put(log: &Log, class: usize, level: Level, text: &str, now: Duration) {
    log.0.borrow_mut().log(class, level, &text, now);
}

#[test]
fn an_entry_prints_as_clients_expect() {
    let log = Log::new();
    log.class("plugin", "load");
    put(&log, 0, Level::Notice, "Plugin disabled (default): x.so", NOW);
    assert_eq!(
        log.entries()[0].to_string(),
        "2026/11/21 20:58:06:617 notice     plugin/load    Plugin disabled (default): x.so"
    );
}

#[test]
fn levels_and_size_bound_what_is_kept() {
    let log = Log::new();
    log.class("a", "b");
    let mut cli: Cli<()> = Cli::new();
    log.register(&mut cli);
    put(&log, 0, Level::Info, "below the level", NOW);
    assert!(log.entries().is_empty());

    assert_eq!(cli.run(&mut (), "set logging class a/b level debug").text(), "");
    assert_eq!(cli.run(&mut (), "set logging size 2").text(), "");
    for text in ["1", "2", "3"] {
        put(&log, 0, Level::Debug, text, NOW);
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
    log.class("a", "b");
    for _ in 0..5 {
        put(&log, 0, Level::Notice, "again", NOW);
    }
    assert_eq!(log.entries().len(), 2);
    put(&log, 0, Level::Notice, "later", NOW + Duration::from_secs(2));
    assert_eq!(log.entries().len(), 2, "still cut off");
    put(&log, 0, Level::Notice, "later", NOW + Duration::from_secs(4));
    let texts: Vec<_> = log.entries().into_iter().map(|e| e.text).collect();
    assert_eq!(texts[2..], ["4 messages were not logged: above the rate limit", "later"]);
}

#[test]
fn the_configuration_prints_as_clients_expect() {
    let log = Log::new();
    let set = ClassLevel { rate_limit: Some(2_147_483_647), ..ClassLevel::default() };
    log.configure(&Logging { classes: vec![("plugin/load".into(), set)], ..Logging::default() });
    log.class("plugin", "load");
    log.class("ip4", "neighbor");
    log.class("plugin", "other");
    let mut cli: Cli<()> = Cli::new();
    log.register(&mut cli);
    assert_eq!(
        cli.run(&mut (), "show logging configuration").text(),
        "Buffer Size:         512 entries
Defaults:
  Log Level:         notice
  Syslog Log Level:  warn
  Kmsg Log Level:    disabled
  Rate Limit:        50 msgs/sec

Class/Subclass         Level          Syslog Level   Kmsg Log Level Rate Limit
plugin
  load                 notice         warn           disabled       2147483647
  other                notice         warn           disabled       50
ip4
  neighbor             notice         warn           disabled       50
"
    );
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
