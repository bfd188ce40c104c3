//! Messages to a syslog collector: tests with packets.

use control::api::Retval;
use net::testing::packets::*;
use net::testing::whole::{Bench, sent};
use syslog::*;

fn message<'a>(severity: Severity, data: &'a [Structured<'a>]) -> Message<'a> {
    Message { facility: Facility::LOCAL0, severity, application: "NAT", id: "SADD", data, text: "" }
}

#[test]
fn events_reach_the_collector_as_the_standard_writes_them() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb");
    b.set("set syslog sender collector 10.0.1.2 src 10.0.1.1");
    b.wait(0.0);
    b.control(|router, _| {
        let parameters: [(&str, &dyn std::fmt::Display); 2] = [("SVLAN", &7), ("X", &"a\"]\\")];
        let data = [Structured { id: "nsess", parameters: &parameters }];
        send(router, &message(Severity::Info, &data));
        send(router, &message(Severity::Dbg, &data));
    });
    let out = b.settle();
    let sent = sent(&out);
    assert_eq!(sent.len(), 1, "what is less severe than the filter says is not sent");
    let packet = &sent[0][14..];
    assert_eq!((&packet[12..16], &packet[16..20]), (&[10, 0, 1, 1][..], &[10, 0, 1, 2][..]));
    assert_eq!(packet[22..24], 514_u16.to_be_bytes());
    assert!(sum4(packet).is_valid());
    let text = std::str::from_utf8(&packet[28..]).unwrap();
    let (head, rest) = text.split_once(" 10.0.1.1 ").unwrap();
    assert!(head.starts_with("<134>1 2") && head.ends_with('Z'), "{head}");
    let process = std::process::id();
    let expected = format!("NAT {process} SADD [nsess SVLAN=\"7\" X=\"a\\\"\\]\\\\\"]");
    assert_eq!(rest, expected, "a collector knows by the process that the router was restarted");
}

#[test]
fn an_event_can_be_sent_by_command() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb");
    b.set("set syslog sender collector 10.0.1.2 src 10.0.1.1");
    b.wait(0.0);
    for (line, text) in [
        ("local7 emerg app ID", "<184>1 app P ID -"),
        (
            "kern err - - sd-id a sd-id b sd-param x 1 sd-param y 2",
            "<3>1 - P - [a][b x=\"1\" y=\"2\"]",
        ),
        (
            "security-authorization critical app ID sd-id a sd-param x 1 text",
            "<34>1 app P ID [a x=\"1\"] text",
        ),
        ("log-alert error app ID", "<115>1 app P ID -"),
        ("cron info app ID all  went well", "<126>1 app P ID - all  went well"),
    ] {
        b.set(&format!("test syslog {line}"));
        let out = b.settle();
        let packet = &sent(&out)[0][14..];
        let all = std::str::from_utf8(&packet[28..]).unwrap();
        let (head, rest) = all.split_once(" 10.0.1.1 ").unwrap();
        let (priority, _) = head.split_once(' ').unwrap();
        let process = std::process::id().to_string();
        assert_eq!(format!("{priority} {rest}"), text.replacen('P', &process, 1));
    }
    b.set("test syslog user-level debug app ID");
    assert!(sent(&b.settle()).is_empty(), "less severe than the filter says");
    for (line, error) in [
        ("test syslog nosuch err a b", "invalid facility `nosuch err a b'"),
        ("test syslog user loud a b", "invalid severity `loud a b'"),
        ("test syslog user err a", "missing message-id"),
        ("test syslog user err a b sd-param x 1", "missing sd-id before `sd-param x 1'"),
    ] {
        assert!(b.attempt(line).unwrap_err().contains(error), "{line}");
    }
}

#[test]
fn times_and_absent_fields_have_their_signs() {
    let empty = Message { application: "", id: "", text: "hello", ..message(Severity::Err, &[]) };
    let time = std::time::Duration::from_micros(1_000_000_000_000_123);
    let host = "10.0.0.1".parse().unwrap();
    let text = empty.text(host, time, 3);
    assert_eq!(text, "<131>1 2001-09-09T01:46:40.000123Z 10.0.0.1 - 3 - - hello");
}

#[test]
fn sender_and_filter_are_set_shown_and_refused() {
    let mut b = Bench::plugged(&[FEATURE]);
    assert_eq!(b.run("show syslog sender"), "syslog sender is disabled\n");
    b.talk(|local, router| {
        let sender = |vrf_id, max_msg_size| SyslogSetSender {
            src_address: "10.0.0.1".parse().unwrap(),
            collector_address: "10.0.0.2".parse().unwrap(),
            collector_port: 600,
            vrf_id,
            max_msg_size,
        };
        let refused = |m: SyslogSetSender, router: &mut _| local.call(router, &m).err();
        assert_eq!(refused(sender(9, 480), router), Some(Retval::NO_SUCH_FIB));
        assert_eq!(refused(sender(0, 479), router), Some(Retval::INVALID_VALUE));
        local.call(router, &sender(u32::MAX, 500)).unwrap();
        let told = local.call(router, &SyslogGetSender {}).unwrap();
        assert_eq!((told.collector_port, told.vrf_id, told.max_msg_size), (600, u32::MAX, 500));
        local.call(router, &SyslogSetFilter { severity: SyslogSeverity::WARN }).unwrap();
        let wrong = local.call(router, &SyslogSetFilter { severity: SyslogSeverity(8) }).err();
        assert_eq!(wrong, Some(Retval::INVALID_VALUE));
        let filter = local.call(router, &SyslogGetFilter {}).unwrap();
        assert_eq!(filter.severity, SyslogSeverity::WARN);
    });
    assert_eq!(
        b.run("show configuration syslog"),
        "set syslog filter severity warning\n\
         set syslog sender collector 10.0.0.2 port 600 src 10.0.0.1 max-msg-size 500\n"
    );
    for (word, long) in [
        ("emergency", "emergency"),
        ("emerg", "emergency"),
        ("alert", "alert"),
        ("critical", "critical"),
        ("error", "error"),
        ("warn", "warning"),
        ("notice", "notice"),
        ("debug", "debug"),
    ] {
        b.set(&format!("set syslog filter severity {word}"));
        let told = b.attempt("show syslog filter").unwrap();
        assert_eq!(told, format!("severity-filter: {long}\n"));
    }
    b.set("set syslog filter severity warning");
    assert!(b.attempt("set syslog filter severity loud").unwrap_err().contains("loud"));
}
