//! Rules and deny rules, as clients add and list them.

use control::api::Retval;

use super::*;

fn rule(lcl: &str, rmt: &str, appns_index: u32) -> SessionRuleAddDel {
    SessionRuleAddDel {
        transport_proto: TransportProto::TCP,
        lcl: prefix(lcl),
        rmt: prefix(rmt),
        lcl_port: 5000,
        rmt_port: 80,
        action_index: 1,
        is_add: true,
        appns_index,
        scope: SessionRuleScope::GLOBAL,
        tag: "rule-1".into(),
    }
}

/// The namespaces of the second row of a dump: the rule behind the rule of all connections.
fn second(local: &Local<'_, Router>, router: &mut Router) -> Vec<u32> {
    local.dump(router, &SessionRulesV2Dump {})[1].appns_index.clone()
}

#[test]
fn a_rule_is_of_all_namespaces_of_its_table() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.set("ip table add 99");
    b.set("ip6 table add 99");
    b.run("create sub-interfaces pg1 5");
    let sub = b.control(|router, _| router.interfaces.named("pg1.5").unwrap().index);
    b.talk(|local, router| {
        local.call(router, &of_interface("0", sub)).unwrap();
        local.call(router, &of_interface("1", pg0)).unwrap();
        local.call(router, &rule("172.100.1.1/32", "172.100.1.2/32", 1)).unwrap();
        assert_eq!(second(local, router), [0, 1, 2]);
        let gone = AppNamespaceAddDelV4 { is_add: false, ..of_interface("1", pg0) };
        local.call(router, &gone).unwrap();
        assert_eq!(second(local, router), [0, 1]);
    });
    b.set("set interface ip table pg1.5 99");
    b.talk(|local, router| assert_eq!(second(local, router), [0]));
    b.set("set interface ip table pg1.5 0");
    b.talk(|local, router| {
        let old =
            SessionRuleAddDel { is_add: false, ..rule("172.100.1.1/32", "172.100.1.2/32", 0) };
        local.call(router, &old).unwrap();
        local.call(router, &rule("2001::1/128", "2002::1/128", 1)).unwrap();
        assert_eq!(second(local, router), [0, 1]);
    });
    b.set("set interface ip6 table pg1.5 99");
    b.talk(|local, router| assert_eq!(second(local, router), [0, 1], "IPv4 stays"));
}

#[test]
fn rules_are_dumped_behind_the_rule_of_all_connections() {
    let mut b = bench();
    b.talk(|local, router| {
        let none = local.dump(router, &SessionRulesDump {}).len();
        let new = rule("172.100.1.1/32", "172.100.1.2/32", 0);
        local.call(router, &new).unwrap();
        let rows = local.dump(router, &SessionRulesDump {});
        assert_eq!(rows.len(), none + 1);
        assert_eq!((rows[0].lcl, rows[0].action_index), (prefix("0.0.0.0/0"), u32::MAX));
        let row = &rows[1];
        assert_eq!((row.lcl, row.rmt), (new.lcl, new.rmt));
        assert_eq!((row.lcl_port, row.rmt_port, row.action_index), (5000, 80, 1));
        assert_eq!((row.appns_index, row.scope), (0, SessionRuleScope::GLOBAL));
        assert_eq!(row.tag.as_str(), "rule-1");
        let both = SessionRuleAddDel { scope: SessionRuleScope::BOTH, ..new };
        local.call(router, &both).unwrap();
        let rows = local.dump(router, &SessionRulesDump {});
        let local_rows = rows.iter().filter(|r| r.scope == SessionRuleScope::LOCAL);
        assert_eq!(local_rows.filter(|r| r.lcl_port == 5000).count(), 1);
        local.call(router, &SessionRuleAddDel { is_add: false, ..both }).unwrap();
        assert_eq!(local.dump(router, &SessionRulesDump {}).len(), none);
    });
}

#[test]
fn bad_rules_are_refused() {
    let mut b = bench();
    b.talk(|local, router| {
        let refused = |router: &mut Router, m: SessionRuleAddDel| local.call(router, &m).err();
        let good = || rule("172.100.1.1/32", "172.100.1.2/32", 0);
        let unknown = SessionRuleAddDel { appns_index: 10, ..good() };
        assert_eq!(refused(router, unknown), Some(Retval(-1)));
        let mixed = rule("172.100.1.1/32", "2001::1/128", 0);
        assert_eq!(refused(router, mixed), Some(Retval(-19)));
        let absent = SessionRuleAddDel { is_add: false, ..good() };
        assert_eq!(refused(router, absent), Some(Retval(-19)));
        let tls = SessionRuleAddDel { transport_proto: TransportProto::TLS, ..good() };
        assert_eq!(refused(router, tls), Some(Retval(-10)));
        let scope = SessionRuleAddDel { scope: SessionRuleScope(3), ..good() };
        assert_eq!(refused(router, scope), Some(Retval::INVALID_VALUE));
    });
    b.set("session disable");
    b.set("session enable rt-backend sdl");
    b.talk(|local, router| {
        let m = rule("172.100.1.1/32", "172.100.1.2/32", 0);
        assert_eq!(local.call(router, &m).err(), Some(Retval::FEATURE_DISABLED));
    });
}

fn deny(prefixes: impl IntoIterator<Item = String>, is_add: bool) -> SessionSdlAddDelV2 {
    let rule = |text: String| SdlRuleV2 { rmt: prefix(&text), action_index: 0, tag: "".into() };
    SessionSdlAddDelV2 { appns_index: 0, is_add, r: prefixes.into_iter().map(rule).collect() }
}

#[test]
fn sixty_five_thousand_deny_rules_come_in_one_message() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("session enable rt-backend sdl");
    b.set("app ns add id 0 if pg0");
    let all = || (0..255).flat_map(|i| (0..255).map(move |j| format!("10.1.{i}.{j}/32")));
    b.talk(|local, router| {
        local.call(router, &deny(["10.0.1.2/32".to_owned()], true)).unwrap();
        let rows = local.dump(router, &SessionSdlV3Dump {});
        assert_eq!((rows[0].rmt, &rows[0].appns_index[..]), (prefix("10.0.1.2/32"), &[0, 1][..]));
        let begun = std::time::Instant::now();
        local.call(router, &deny(all(), true)).unwrap();
        eprintln!("65025 rules: {:?}", begun.elapsed());
        assert_eq!(local.dump(router, &SessionSdlV3Dump {}).len(), 65_026);
        let bad = deny(["10.1.0.0/32".to_owned(), "10.7.0.0/32".to_owned()], false);
        assert_eq!(local.call(router, &bad).err(), Some(Retval(-19)));
        assert_eq!(local.dump(router, &SessionSdlDump {}).len(), 65_026, "none was deleted");
        local.call(router, &deny(all(), false)).unwrap();
        assert_eq!(local.dump(router, &SessionSdlV2Dump {}).len(), 1);
        engine(local, router, RtBackendEngine::DISABLE);
        engine(local, router, RtBackendEngine::SDL);
        assert_eq!(local.dump(router, &SessionSdlV3Dump {}).len(), 0);
    });
}

#[test]
fn commands_do_the_same_and_print_themselves() {
    let mut b = bench();
    b.set("app ns add id web secret 7 if pg0 sock-name @web");
    for line in [
        "session rule add appns web scope all proto tcp 10.0.0.0/8 80 0.0.0.0/0 0 action drop tag t",
        "session rule add proto udp 2001:db8::/32 0 ::/0 53 action 3",
        "session rule add proto udp 0.0.0.0/0 0 0.0.0.0/0 0 action -3",
    ] {
        b.set(line);
    }
    let shown = b.run("show session rules tcp appns web 10.1.2.3/32 80 1.1.1.1/32 9");
    assert!(shown.contains("action drop t"), "{shown}");
    let shown = b.run("show session rules udp appns web 10.1.2.3/32 80 1.1.1.1/32 9");
    assert!(shown.contains("action allow"), "{shown}");
    let before = b.run("show configuration session secrets");
    assert_eq!(before.lines().filter(|l| l.starts_with("session rule")).count(), 4, "{before}");
    b.set("session disable");
    assert!(!b.run("show configuration session").contains("session"));
    for line in before.lines() {
        b.set(line);
    }
    assert_eq!(b.run("show configuration session secrets"), before);
    for (line, why) in [
        ("session rule add proto sctp 10.0.0.0/8 1 0.0.0.0/0 0", "expected tcp or udp"),
        ("session rule add proto tcp 10.0.0.0/8 1 ::/0 0", "the same IP version"),
        ("session rule add proto tcp 10.0.0.0/8 1", "missing remote prefix"),
        ("session rule add appns none proto tcp 10.0.0.0/8 1 0.0.0.0/0 0", "`none'"),
        ("session sdl add 10.0.0.0/8", "rt-backend sdl"),
        ("session enable rt-backend sdl", "rt-backend is rule-table"),
        ("session", "unknown input"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn deny_rules_of_commands_print_themselves() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("session enable rt-backend sdl");
    b.set("session sdl add 10.0.0.0/8 tag bad");
    b.set("session sdl add 10.1.0.0/16 action 1");
    b.set("session sdl add 2001:db8::/32");
    let shown = b.run("show session sdl 10.1.2.3");
    assert!(shown.contains("10.1.0.0/16"), "{shown}");
    assert!(b.run("show session sdl 11.0.0.1").contains("no rule"));
    assert_eq!(b.run("show session sdl table 0").lines().count(), 3);
    let before = b.run("show configuration session");
    b.set("session disable");
    before.lines().for_each(|line| b.set(line));
    assert_eq!(b.run("show configuration session"), before);
    assert!(b.attempt("session sdl del 10.2.0.0/16").unwrap_err().contains("no deny rule"));
    b.set("session sdl del 10.0.0.0/8");
}
