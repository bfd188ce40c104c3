//! Tests of statistics for Prometheus.

use http_core::{Answer, Outcome, read};
use net::testing::whole::Bench;
use prom::*;

/// The body of a scrape.
fn scrape(b: &mut Bench) -> String {
    b.control(|router, _| {
        let text = b"GET /stats.prom HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n";
        let handler = http_core::handlers(router).get(PATH).expect("it is enabled");
        let Outcome::Complete(_, answer) = read(text, 0, |request| handler(request)) else {
            panic!("a request");
        };
        let Answer::Later(ticket) = answer else { panic!("it is read by another thread") };
        for _ in 0..2000 {
            if let Some(response) = ticket.take() {
                return String::from_utf8(response.body.to_vec()).unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("no answer");
    })
}

#[test]
fn a_scrape_has_what_the_patterns_say_under_the_prefix() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("prom enable min-scrape-interval 0");
    let text = scrape(&mut b);
    assert!(text.contains("# TYPE ferrovia_"), "{text}");
    assert!(text.contains("ferrovia_interface_rx_packets"), "{text}");
    b.set("prom stat-name-prefix vpp stat-patterns { ^/if/tx$ }");
    assert_eq!(b.run("prom patterns show"), "^/if/tx$\n");
    let text = scrape(&mut b);
    let names = text.lines().filter(|l| l.starts_with("# TYPE")).collect::<Vec<_>>();
    assert!(!names.is_empty() && names.iter().all(|n| n.contains(" vpp_interface_tx_")), "{text}");
    b.set("prom all-stats");
    assert!(scrape(&mut b).contains("vpp_heartbeat"));
    b.set("prom disable");
    assert!(b.control(|router, _| http_core::handlers(router).get(PATH).is_none()));
}

#[test]
fn within_the_interval_a_scrape_is_given_again() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("prom enable min-scrape-interval 3600");
    let first = scrape(&mut b);
    let pg0 = b.pg0;
    b.receive(pg0, &[vec![0xff; 60]]);
    assert_eq!(scrape(&mut b), first);
    b.set("prom min-scrape-interval 3599");
    assert_ne!(scrape(&mut b), first, "settings have changed");
}

#[test]
fn settings_are_checked_and_print_themselves() {
    let mut b = Bench::plugged(&[FEATURE]);
    for (line, why) in [
        ("prom", "expected enable or a setting"),
        ("prom enable min-scrape-interval -1", "0 to 86400"),
        ("prom stat-name-prefix 9x", "begin with a letter"),
        ("prom stat-patterns { ^/if.* }", "not a substring of a path"),
        ("prom patterns add (", "not a substring of a path"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
    assert_eq!(b.run("show configuration prom"), "");
    b.set("prom enable used-only");
    b.set("prom patterns clear add ^/if /err");
    assert_eq!(b.run("prom patterns show"), "^/if\n/err\n");
    let told = b.run("show configuration prom");
    let expected = "prom enable min-scrape-interval 1 used-only stat-patterns { ^/if /err }\n";
    assert_eq!(told, expected);
    b.set("prom disable");
    assert_eq!(b.run("show configuration prom"), "");
    b.set(told.trim());
    assert_eq!(b.run("show configuration prom"), told);
}
