//! Tests of the command line over HTTP.

use host_stack::FEATURE as SESSION;
use hs_apps::FEATURE;
use hs_apps::cli_server::command_of;
use net::testing::whole::Bench;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[SESSION, FEATURE]);
    b.set("session enable");
    b
}

#[test]
fn a_path_is_a_command_that_shows_or_it_is_refused() {
    for (path, command) in [
        ("/sh/version", "show version"),
        ("/show/ip/fib", "show ip fib"),
        ("//show/interface/eth0%2f1/", "show interface eth0/1"),
    ] {
        assert_eq!(command_of(path).as_deref(), Ok(command));
    }
    for path in [
        "/",
        "",
        "/s/version",
        "/set/interface/state/eth0/up",
        "/exec/x",
        "/showing/x",
        "/show/version%0aset",
        "/show/a%7cb",
        "/show/$x",
        "/show/{",
        "/show/a b",
        "/show/%zz",
        "/show/%",
        "/show/a%00",
    ] {
        assert!(command_of(path).is_err(), "{path}");
    }
    assert!(command_of(&format!("/show/{}", "x".repeat(600))).is_err());
}

#[test]
fn it_is_off_until_it_is_asked_for_and_prints_itself() {
    let mut b = bench();
    assert_eq!(b.run("show session listeners tcp").lines().count(), 1);
    b.set("app ns add id web secret 7 if pg0");
    assert!(b.attempt("http cli server appns web secret 8").unwrap_err().contains("wrong secret"));
    assert_eq!(b.run("show app").lines().count(), 1, "nothing is left of it");
    b.set("http cli server appns web secret 7");
    b.set("http cli server uri http://::0/80 listener add");
    let shown = b.run("show session listeners tcp");
    let head = format!("{:<60}{:<24}\n", "Listener", "App");
    assert!(shown.starts_with(&head) && shown.contains("[T] [::]:80->[::]:0 "), "{shown}");
    assert!(shown.contains("[T] 0.0.0.0:80->0.0.0.0:0 "), "{shown}");
    let sessions = b.run("show session verbose");
    let head = "Connection                                                  State";
    assert!(sessions.starts_with(head) && sessions.contains(" LISTEN "), "{sessions}");
    let apps = b.run("show app");
    assert!(apps.starts_with("Index     Name                Namespace "), "{apps}");
    let servers = b.run("show app server");
    assert!(servers.contains("[T] 0.0.0.0:80->0.0.0.0:0 "), "{servers}");
    let told = b.run("show configuration hs_apps secrets");
    assert!(told.contains("http cli server uri http://0.0.0.0/80 appns web secret 7"), "{told}");
    assert!(!b.run("show configuration hs_apps").contains('7'));
    for (line, why) in [
        ("http cli server", "already listens on http://0.0.0.0/80"),
        ("http cli server uri https://0.0.0.0/443", "TLS is not supported"),
        ("http cli server uri http://0.0.0.0/81 appns default", "is in namespace `web'"),
        ("http cli server uri http://0.0.0.0/99 listener del", "does not listen"),
        ("http cli server uri udp:/x", "no transport"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
    b.set("http cli server listener del");
    b.set("http cli server uri http://::0/80 listener del");
    assert_eq!(b.run("show configuration hs_apps"), "");
    b.set("http cli server");
    b.set("session disable");
    assert_eq!(b.run("show configuration hs_apps"), "");
    b.set("session enable");
    assert_eq!(b.run("show session listeners tcp").lines().count(), 1, "it stays off");
}
