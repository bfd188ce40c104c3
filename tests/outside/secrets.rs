//! Keys are accepted and saved, and hidden.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tests::{Daemon, unique};

use crate::clients::Client;

const PRIVATE: &str = "aK8FWhiV1CtKFbKUPssL13P+Tv+c5owmYcU5PCP6yFw=";
const SHARED: &str = "YAnz5TF+lXXJte14tji3zlMNftqL3ybjcUy4/lvxCnM=";
const PUBLIC: &str = "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=";

/// Commands with secrets in them, each in capitals in the order of the commands.
fn commands() -> [(String, &'static [&'static str]); 8] {
    [
        (format!("wireguard create listen-port 5 private-key {PRIVATE} src 10.0.0.1"), &[PRIVATE]),
        (
            format!(
                "wireguard peer add wg0 public-key {PUBLIC} preshared-key {SHARED} \
                 endpoint 10.0.0.2 port 5 allowed-ip 10.9.0.0/16"
            ),
            &[SHARED],
        ),
        (
            "ipsec sa add 1 spi 5 esp crypto-alg aes-cbc-128 crypto-key \
             c0ffee000102030405060708090a0b0c integ-alg sha1-96 integ-key \
             beefbeefbeefbeefbeefbeefbeefbeefbeefbeef"
                .to_owned(),
            &["c0ffee000102030405060708090a0b0c", "beefbeefbeefbeefbeefbeefbeefbeefbeefbeef"],
        ),
        (
            "bfd key set conf-key-id 3 type keyed-sha1 secret dead00beef11".to_owned(),
            &["dead00beef11"],
        ),
        ("create memif socket id 9 filename m9.sock".to_owned(), &[]),
        (
            "create interface memif id 0 socket-id 9 master secret openSesame".to_owned(),
            &["openSesame"],
        ),
        (
            "create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::1 local-cookie 0xc00c1e01 \
             remote-cookie 0xc00c1e02 local-session 1 remote-session 2"
                .to_owned(),
            &["c00c1e01", "c00c1e02"],
        ),
        (
            "set l2tpv3 tunnel cookie l2tpv3_tunnel0 local 0xc00c1e03 remote 0xc00c1e04".to_owned(),
            &["c00c1e03", "c00c1e04"],
        ),
    ]
}

/// All that is printed for a command, errors too.
fn all_of(daemon: &Daemon, line: &str) -> String {
    let answer = daemon.ask(line);
    answer.text + &answer.error
}

#[track_caller]
fn hides(text: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} is in: {text}");
    }
}

#[test]
fn no_secret_is_in_what_the_router_shows_or_writes_for_others() {
    let daemon = Daemon::start(crate::GENERATORS);
    for line in ["event-logger trace cli", "event-logger trace api", "commit nothing yet"] {
        daemon.tell(line);
    }
    let all: Vec<_> = commands().iter().flat_map(|(_, secrets)| secrets.iter().copied()).collect();
    for (line, secrets) in commands() {
        daemon.tell(&line);
        let word = line.split(' ').next().unwrap_or_default();
        // A word too many, one that is wrong in front, no such command, a misspelled keyword.
        let wrong = [
            format!("{line} nonsense"),
            line.replacen(" id ", " idd ", 1).replacen(" add ", " addd ", 1),
            line.replacen(word, &format!("{word}x"), 1),
            line.replacen("-key ", "-kye ", 1).replacen("secret ", "secert ", 1),
        ];
        for wrong in wrong.iter().filter(|wrong| **wrong != line) {
            hides(&all_of(&daemon, wrong), secrets);
        }
    }
    let saved = daemon.folder().join("saved");
    daemon.tell(&format!("save {}", saved.display()));
    let kept = fs::read_to_string(&saved).unwrap();
    // The second command about cookies takes the place of the first remote one.
    for secret in all.iter().filter(|secret| **secret != "c00c1e02") {
        assert!(kept.contains(secret), "{secret} is saved");
    }
    assert_eq!(saved.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let name = unique();
    daemon.tell(&format!("event-logger save {name}"));
    let events = format!("/tmp/{name}");
    for command in [
        "show configuration",
        "show configuration diff",
        "show configuration diff 0",
        "show event-logger all",
        "show cli-sessions",
        "show logging",
        "show ipsec all",
        "show wireguard interface",
        "show wireguard peer",
        "show memif",
        "show bfd keys",
        "show l2tpv3",
        "show l2tpv3 verbose",
        "show adj",
        "show ip6 fib",
        "show interface",
    ] {
        hides(&all_of(&daemon, command), &all);
    }
    assert!(daemon.tell("show event-logger all").contains("secret <hidden>"));
    assert!(daemon.tell("show configuration").contains("secret <hidden>"));
    daemon.tell("commit all of them");
    daemon.tell("delete interface memif memif9/0");
    hides(&daemon.tell("show configuration diff 0"), &all);
    hides(&fs::read_to_string(&events).unwrap(), &all);
    assert_eq!(fs::metadata(&events).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(events).unwrap();
}

#[test]
fn messages_are_traced_without_their_keys_and_saved_for_nobody_else() {
    let daemon = Daemon::start(&[]);
    daemon.tell("api trace on");
    let mut client = Client::connect(&daemon);
    let key: Vec<u8> = (0..20).map(|n| 0xd0 | n).collect();
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    client.ask("bfd_auth_set_key", &[&[0, 0, 0, 7, 20, 4][..], &key].concat());
    daemon.tell("api trace off");
    let dump = daemon.tell("api trace dump");
    assert!(dump.contains("bfd_auth_set_key") && dump.contains(r#""key":"<hidden>""#), "{dump}");
    hides(&dump, &[&hex]);
    let name = unique();
    for save in ["save", "save-json"] {
        daemon.tell(&format!("api trace {save} {name}-{save}"));
        let path = format!("/tmp/{name}-{save}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        if save == "save" {
            hides(&daemon.tell(&format!("api trace tojson {path}")), &[&hex]);
        } else {
            daemon.tell("bfd key del conf-key-id 7");
            daemon.tell(&format!("api trace replay-json {path}"));
            assert!(daemon.tell("show bfd keys").contains('7'), "it is carried out again");
        }
        fs::remove_file(path).unwrap();
    }
    let typed = format!("binary-api bfd_auth_set_key conf_key_id 8 key_len 99 key 0x{hex}zz");
    hides(&all_of(&daemon, &typed), &[&hex]);
    let typed = format!("binary-api bfd_auth_set_key key 0x{hex} conf_key_id");
    let said = all_of(&daemon, &typed);
    assert!(said.contains("after the field `conf_key_id'"), "{said}");
    hides(&said, &[&hex]);
}
