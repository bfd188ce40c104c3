//! The layer on and off, namespaces, settings, certificates.

use control::api::Retval;

use super::*;

#[test]
fn a_backend_is_changed_by_disabling_the_layer() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.talk(|local, router| {
        for _ in 0..10 {
            for of in [RtBackendEngine::SDL, RtBackendEngine::RULE_TABLE, RtBackendEngine::NONE] {
                assert_eq!(engine(local, router, of), None);
                assert_eq!(engine(local, router, of), None, "once more changes nothing");
                let other = RtBackendEngine((of.0 % 3) + 1);
                assert_eq!(engine(local, router, other), Some(-19));
                assert_eq!(engine(local, router, RtBackendEngine::DISABLE), None);
            }
        }
        assert_eq!(engine(local, router, RtBackendEngine(9)), Some(Retval::INVALID_VALUE.0));
        local.call(router, &SessionEnableDisable { is_enable: true }).unwrap();
        assert_eq!(backend(router), Some(Backend::RuleTable));
        local.call(router, &SessionEnableDisable { is_enable: false }).unwrap();
        assert_eq!(backend(router), None);
    });
}

#[test]
fn while_it_is_disabled_requests_are_refused() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let disabled = Some(Retval::FEATURE_DISABLED);
        assert_eq!(local.call(router, &of_interface("a", pg0)).err(), disabled);
        let attach = AppAttach { options: [0; 18], namespace_id: String::new() };
        assert_eq!(local.call(router, &attach).err(), disabled);
        assert_eq!(local.call(router, &ApplicationDetach {}).err(), disabled);
        let sockets = SessionSapiEnableDisable { is_enable: true };
        assert_eq!(local.call(router, &sockets).err(), disabled);
        let sdl = SessionSdlAddDelV2 { appns_index: 0, is_add: true, r: Vec::new() };
        assert_eq!(local.call(router, &sdl).err(), disabled);
        assert_eq!(local.dump(router, &SessionRulesV2Dump {}).len(), 0);
        assert_eq!(local.dump(router, &SessionSdlV3Dump {}).len(), 0);
        engine(local, router, RtBackendEngine::NONE);
        assert_eq!(local.call(router, &attach).err(), Some(Retval(-10)));
        assert_eq!(local.call(router, &ApplicationDetach {}).err(), Some(Retval(-13)));
        assert_eq!(local.call(router, &sdl).err(), disabled, "the backend is another");
        assert_eq!(local.call(router, &sockets).err(), Some(Retval(-10)));
        local.call(router, &SessionSapiEnableDisable { is_enable: false }).unwrap();
        local.call(router, &of_interface("a", pg0)).unwrap();
        assert_eq!(local.call(router, &sockets).err(), Some(Retval(-1)), "namespaces exist");
    });
}

#[test]
fn a_namespace_needs_what_there_is() {
    let mut b = bench();
    b.set("ip table add 99");
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let mut add = |m: AppNamespaceAddDelV4| {
            local.call(router, &m).map(|reply| reply.appns_index).map_err(|e| e.0)
        };
        assert_eq!(add(of_tables("2", [99, 99])), Err(-19), "there is no IPv6 table 99");
        assert_eq!(add(of_tables("2", [u32::MAX; 2])), Err(-19));
        assert_eq!(add(of_interface("2", InterfaceIndex(77))), Err(-19));
        assert_eq!(add(of_tables("", [0, 0])), Err(-19));
        assert_eq!(add(of_tables("default", [0, 0])), Err(-19));
        assert_eq!(add(of_tables("2", [99, u32::MAX])), Ok(1));
        assert_eq!(add(of_tables("2", [u32::MAX, 0])), Ok(1), "it moves");
        assert_eq!(add(of_interface("3", pg0)), Ok(2));
        let gone = AppNamespaceAddDelV4 { is_add: false, ..of_tables("2", [0, 0]) };
        assert_eq!(add(gone), Ok(1));
        let gone = AppNamespaceAddDelV4 { is_add: false, ..of_tables("2", [0, 0]) };
        assert_eq!(add(gone), Err(-22));
        assert_eq!(add(of_tables("4", [0, 0])), Ok(1), "the number is free again");
    });
    let shown = b.run("show app ns");
    assert!(shown.contains("default") && shown.contains("pg0"), "{shown}");
    assert!(b.attempt("show app ns id 9").unwrap_err().contains("no such namespace `9'"));
}

#[test]
fn a_secret_admits_and_is_not_shown() {
    let mut b = bench();
    b.set("app ns add id guarded secret 1234567 if pg1");
    b.control(|router, _| {
        assert_eq!(namespaces::admitted(router, "", 0), Ok(0));
        assert_eq!(namespaces::admitted(router, "guarded", 1_234_567), Ok(1));
        assert!(namespaces::admitted(router, "guarded", 1).is_err());
        assert!(namespaces::admitted(router, "guarded", 0).is_err());
    });
    for shown in ["show app ns", "show configuration session"] {
        let shown = b.run(shown);
        assert!(!shown.contains("1234567") && shown.contains("guarded"), "{shown}");
    }
}

#[test]
fn a_deleted_interface_leaves_its_tables_to_its_namespaces() {
    let mut b = bench();
    b.set("ip table add 5");
    b.run("create sub-interfaces pg1 5");
    b.set("set interface ip table pg1.5 5");
    b.set("app ns add id lo if pg1.5");
    b.set("session rule add appns lo proto tcp 10.0.0.1/32 80 0.0.0.0/0 0 action drop");
    b.set("delete sub-interface pg1.5");
    let told = b.run("show configuration session");
    assert!(told.contains("app ns id lo ip4-fib-id 5 ip6-fib-id 0"), "{told}");
    assert!(told.contains("session rule add appns lo"), "{told}");
    b.set("app ns del id lo");
    let told = b.run("show configuration session");
    assert!(!told.contains("session rule"), "{told}");
}

#[test]
fn settings_are_in_the_configuration_while_they_differ() {
    let mut b = Bench::plugged(&[FEATURE]);
    assert_eq!(b.run("set tcp mtu 9000"), "TCP default mtu: 9000\n");
    let shown = b.run("set tcp dsack disable csum-offload");
    assert!(shown.starts_with("TCP csum offload: no effect"), "{shown}");
    assert!(shown.ends_with("TCP dsack: disabled\n"), "{shown}");
    assert!(b.attempt("set tcp mtu 100").unwrap_err().contains("576 to 65535, not 100"));
    assert!(b.attempt("set tcp").is_err());
    let shown = b.run("show tcp config");
    assert!(shown.lines().nth(1) == Some("tcp config") && shown.contains("9000"), "{shown}");
    let told = b.run("show configuration session");
    assert_eq!(told.lines().filter(|l| l.starts_with("set tcp")).count(), 2, "{told}");
    b.run("set tcp mtu 1500 dsack enable");
    assert!(!b.run("show configuration session").contains("set tcp"));
}

#[test]
fn source_addresses_are_the_routers_own() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("tcp src-address 10.9.0.1 - 10.9.0.3");
    assert!(b.run("show ip fib 10.9.0.2/32").contains("receive"));
    for (line, why) in [
        ("tcp src-address 10.9.0.3", "are already configured"),
        ("tcp src-address 10.9.0.9 - 10.9.0.8", "after the last"),
        ("tcp src-address 10.9.0.9 - 2001:db8::1", "the same IP version"),
        ("tcp src-address 10.9.0.9 fib-table 7", "no IP table 7"),
        ("tcp src-address 10.9.1.0 - 10.99.0.0", "at most 4096"),
        ("tcp src-address 10.9.0.1 - 10.9.0.2 del", "no such"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
    assert!(b.run("show configuration session").contains("tcp src-address 10.9.0.1 - 10.9.0.3"));
    b.set("tcp src-address 10.9.0.1 - 10.9.0.3 del");
    assert!(!b.run("show ip fib 10.9.0.2/32").contains("receive"));
}

#[test]
fn a_certificate_goes_with_its_key_only() {
    let (one, other) = (self_signed(), self_signed());
    let mut b = bench();
    b.talk(|local, router| {
        let mut add = |chain: &str, key: &str| {
            let certkey = [chain, key].concat().bytes().map(Secret).collect();
            let m = AppAddCertKeyPair { cert_len: chain.len() as u16, certkey };
            local.call(router, &m).map(|reply| reply.index).map_err(|e| e.0)
        };
        assert_eq!(add(&one.0, &one.1), Ok(1), "0 is none");
        assert_eq!(add(&other.0, &other.1), Ok(2));
        assert_eq!(add(&one.0, &other.1), Err(-19));
        assert_eq!(add("nonsense", &one.1), Err(-19));
        assert_eq!(add(&one.0, ""), Err(-19));
        let del = |index| AppDelCertKeyPair { index };
        local.call(router, &del(1)).unwrap();
        assert_eq!(local.call(router, &del(1)).err(), Some(Retval(-36)));
    });
    let shown = b.run("show app certificate");
    assert!(shown.starts_with("[2] 1 in chain, SHA-256 "), "{shown}");
    assert!(!b.run("show configuration session secrets").contains("PRIVATE"));
}

/// A certificate and its key, made by OpenSSL's program.
fn self_signed() -> (String, String) {
    let folder = std::env::temp_dir().join(format!("host-stack-{:p}", &0));
    let folder = folder.with_extension(format!("{:?}", std::time::Instant::now()).replace(' ', ""));
    std::fs::create_dir_all(&folder).unwrap();
    let done = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-keyout", "key", "-out", "cert", "-subj", "/CN=test"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let made = (read("cert"), read("key"));
    std::fs::remove_dir_all(&folder).unwrap();
    made
}

#[test]
fn profiles_refuse_what_is_not_secure() {
    let mut b = bench();
    b.control(|router, _| assert_eq!(apps::add(router, "web", 0), Ok(0)));
    b.run("app crypto add tls-profile app web groups x25519:p-256 min-version 1.3");
    assert!(b.run("show app tls-profile app web").contains("groups X25519:P-256"));
    for (line, why) in [
        ("app crypto add tls-profile app web min-version 1.0", "not secure (RFC 8996)"),
        ("app crypto add tls-profile app web min-version 1.3 max-version 1.2", "above"),
        ("app crypto add tls-profile app web cipher-list RC4-MD5", "`RC4-MD5'"),
        ("app crypto add tls-profile app none", "no such application `none'"),
        ("app crypto del tls-profile app web 3", "no TLS profile 3"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
    b.set("app crypto del tls-profile app 0 0");
    assert_eq!(b.run("show app tls-profile"), "");
}

/// An application that refuses all.
struct Deaf;

impl crate::Application for Deaf {
    fn on_accept(&mut self, _: &mut crate::Stream<'_>) -> bool {
        false
    }
    fn on_readable(&mut self, _: &mut crate::Stream<'_>) {}
}

#[test]
fn listeners_go_with_the_interface_of_their_namespace() {
    let mut b = bench();
    b.set("ip table add 5");
    b.run("create sub-interfaces pg1 5");
    b.set("app ns add id sub if pg1.5");
    b.control(|router, _| {
        let options = crate::Options { namespace: "sub".to_owned(), ..Default::default() };
        let app = crate::attach(router, "deaf", options, |_| Box::new(Deaf)).unwrap();
        for uri in ["tcp://0.0.0.0:80", "udp://0.0.0.0:53", "tcp://[::]:80"] {
            crate::listen(router, app, uri.parse().unwrap(), false).unwrap();
        }
    });
    let tables = |b: &mut Bench| {
        b.control(|router, _| {
            let all = crate::data::show::listeners(router);
            all.iter().map(|listener| listener.fib).collect::<Vec<_>>()
        })
    };
    assert_eq!(tables(&mut b), [0, 0, 0]);
    b.set("set interface ip table pg1.5 5");
    assert_eq!(tables(&mut b), [1, 1, 0]);
    assert!(b.run("show session lookup table 5").contains("ip4 table 5: listeners 2"));
    b.set("app ns add id sub ip4-fib-id 0");
    assert_eq!(tables(&mut b), [0, 0], "there is no IPv6 table any more");
    b.set("app ns del id sub");
    assert!(tables(&mut b).is_empty());
}
