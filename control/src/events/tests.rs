use super::*;
use crate::cli::Cli;

struct Bench {
    log: EventLog,
    clock: Clock,
    cli: Cli<()>,
}

fn bench() -> Bench {
    let (clock, mut cli) = (Clock::start(), Cli::new());
    let log = EventLog::new(clock.clone());
    log.register(&mut cli);
    Bench { log, clock, cli }
}

impl Bench {
    fn run(&self, line: &str) -> String {
        self.cli.run(&mut (), line).text()
    }

    fn texts(&self) -> Vec<String> {
        self.log.newest(usize::MAX).into_iter().map(|event| event.text).collect()
    }
}

#[test]
fn events_have_the_time_of_the_router() {
    let bench = bench();
    bench.clock.adjust(3600.0);
    bench.log.note(Topic::State, "one");
    bench.log.note(Topic::State, "two\nlines");
    let events = bench.log.newest(9);
    assert!(events[0].time >= 3600.0 && events[0].time <= events[1].time, "{events:?}");
    let text = bench.run("show event-logger");
    assert!(text.starts_with("2 of 131072 events in buffer, logger running\n"), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with(": state: one"), "{text}");
    assert!(text.ends_with(": state: two lines\n"), "{text}");
    assert_eq!(bench.run("show event-logger 1").lines().count(), 2);
    assert_eq!(bench.run("show event-logger all").lines().count(), 3);
}

#[test]
fn the_ring_keeps_the_newest() {
    let bench = bench();
    bench.run("event-logger resize 3");
    (0..5).for_each(|number| bench.log.note(Topic::State, number));
    assert_eq!(bench.texts(), ["2", "3", "4"]);
    bench.run("event-logger resize 2");
    assert_eq!(bench.texts(), ["3", "4"]);
    for wrong in ["0", "16777217"] {
        let text = bench.run(&format!("event-logger resize {wrong}"));
        assert!(text.contains(wrong) && text.contains("1 to 16777216"), "{text}");
    }
    bench.run("event-logger clear");
    assert!(bench.texts().is_empty());
}

#[test]
fn a_stopped_log_notes_nothing() {
    let bench = bench();
    bench.run("event-logger stop");
    bench.log.note(Topic::State, "missed");
    assert!(
        bench.run("show event-logger").contains("0 of 131072 events in buffer, logger stopped")
    );
    bench.run("event-logger restart");
    bench.log.note(Topic::State, "noted");
    assert_eq!(bench.texts(), ["noted"]);
}

#[test]
fn what_happens_all_day_is_noted_when_it_is_asked_for() {
    let bench = bench();
    bench.run("echo before");
    bench.run("event-logger trace cli");
    bench.run("echo between");
    bench.log.note(Topic::Api, "nobody asked for this");
    bench.run("event-logger trace cli disable");
    bench.run("echo behind");
    assert_eq!(bench.texts(), ["echo between", "event-logger trace cli disable"]);
    for (word, topic) in [
        ("api", Topic::Api),
        ("dispatch", Topic::Dispatch),
        ("tw_timer", Topic::Timer),
        ("all", Topic::Cli),
    ] {
        bench.log.note(topic, "nobody asked for this");
        assert_eq!(bench.run(&format!("event-logger trace {word}")), "");
        bench.log.note(topic, word);
        assert!(bench.texts().iter().any(|text| text == word), "{word}");
    }
    assert!(!bench.texts().iter().any(|text| text.contains("nobody")));
    bench.run("event-logger trace disable");
    let shown = bench.run("event-logger trace");
    assert_eq!(
        shown,
        "state      on\napi        off\ncli        off\ndispatch   off\ntw_timer   off\n"
    );
}

#[test]
fn long_texts_are_cut_between_characters() {
    let bench = bench();
    bench.log.note(Topic::State, "ü".repeat(500));
    assert_eq!(bench.texts(), ["ü".repeat(LONGEST / 2)]);
}

#[test]
fn a_saved_log_is_a_trace_in_json() {
    let bench = bench();
    let name = format!("event-log-{}.json", std::process::id());
    bench.log.note(Topic::State, "interface \"x\": up");
    let text = bench.run(&format!("event-logger save {name}"));
    let path = std::path::Path::new("/tmp").join(&name);
    assert_eq!(text, format!("1 of 131072 events saved to {}\n", path.display()));
    let saved = std::fs::read_to_string(&path).unwrap();
    let again = bench.run(&format!("event-logger save {name}"));
    std::fs::remove_file(&path).unwrap();
    assert!(again.contains("File exists"), "{again}");
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    let event = &saved["traceEvents"][0];
    assert_eq!(event["name"], "interface \"x\": up");
    assert_eq!((&event["cat"], &event["ph"]), (&"state".into(), &"i".into()));
    let seconds = event["ts"].as_f64().unwrap() / 1e6;
    assert!((seconds - bench.log.newest(1)[0].time).abs() < 1e-6, "{event}");
    let text = bench.run("event-logger save ../x");
    assert_eq!(text, "event-logger save: illegal characters in filename '../x'\n");
}
