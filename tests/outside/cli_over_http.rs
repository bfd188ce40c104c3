//! A command line over HTTP on the router's own TCP, asked by a host of the kernel.

use tests::{Daemon, Host, eventually, has, is_root};

/// A router with the server on both versions, and a host at its tap.
struct Lab {
    router: Daemon,
    host: Host,
}

const CONFIG: &str = "session { enable rt-backend sdl }\ntcp { syn-rcvd-time 1 }\n";

impl Lab {
    fn new(namespace: &str) -> Self {
        let host = Host::alone();
        let tap = format!(
            "create tap id 1 host-if-name eth0 host-ns {} host-ip4-addr 10.1.1.2/24 \
             host-ip6-addr 2001:db8:1::2/64",
            host.namespace()
        );
        let mut setup = vec![
            tap.as_str(),
            "set interface state tap1 up",
            "set interface ip address tap1 10.1.1.1/24",
            "set interface ip address tap1 2001:db8:1::1/64",
        ];
        if !namespace.is_empty() {
            setup.push("app ns add id web secret 7 if tap1");
        }
        let four = format!("http cli server {namespace}");
        let six = format!("http cli server uri http://::0/80 {namespace}");
        setup.extend([four.as_str(), six.as_str()]);
        Self { router: Daemon::start_with(CONFIG, &setup), host }
    }
    /// Status and body of a request.
    fn ask(&self, path: &str, options: &str) -> (String, String) {
        let words = format!(
            "curl --noproxy * -s -m 10 {options} -w \n%{{http_code}} http://10.1.1.1{path}"
        );
        let (_, text) = self.host.attempt(&words);
        let (body, status) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        (status.to_owned(), body.to_owned())
    }
    fn connects(&self, address: &str) -> bool {
        self.host.attempt(&format!("curl --noproxy * -sf -m 2 http://{address}/sh/version")).0
    }
}

fn can_run() -> bool {
    is_root() && has("curl")
}

#[test]
fn commands_that_show_are_answered_and_no_others() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("");
    assert!(eventually(|| lab.connects("10.1.1.1")));
    let (status, body) = lab.ask("/sh/version", "");
    assert!(status == "200" && body.contains("ferrovia"), "{status} {body}");
    assert!(eventually(|| lab.connects("[2001:db8:1::1]")));
    let (status, body) = lab.ask("/show/interface/tap1", "");
    assert!(status == "200" && body.contains("tap1"), "{status} {body}");
    let (status, body) = lab.ask("/show/version", "-I");
    assert!(status == "200" && body.contains("Content-Length"), "{status} {body}");
    let before = lab.router.tell("show configuration secrets");
    // Commands that show, and write a file or look at one.
    let file = lab.router.folder().join("drawn");
    let named = file.to_str().expect("a path of letters").replace('/', "%2F");
    for command in ["vlib/graphviz", "v/graphv", "trace/paths/graphviz/file", "api/dump/file"] {
        let (status, body) = lab.ask(&format!("/show/{command}/{named}"), "");
        assert_eq!(status, "403", "{command}: {body}");
    }
    assert!(!file.exists());
    for (path, options, expected) in [
        ("/set/interface/state/tap1/down", "", "403"),
        ("/exec/x", "", "403"),
        ("/show/configuration", "", "403"),
        ("/show/configuration/secrets", "", "403"),
        ("/show/conf/secrets", "", "403"),
        ("/show/nothing/of/this", "", "403"),
        ("/show/version%0aset%20x", "", "403"),
        ("/show/version?x=y", "", "400"),
        ("/show/version", "-X PUT", "405"),
        ("/show/version", "-d x", "413"),
        ("/show/version", "-H Transfer-Encoding:chunked -d x", "411"),
    ] {
        let (status, body) = lab.ask(path, options);
        assert_eq!(status, expected, "{path} {options}: {body}");
    }
    assert_eq!(lab.router.tell("show configuration secrets"), before);
}

#[test]
fn pages_of_browsers_are_not_answered() {
    if !can_run() {
        return;
    }
    let lab = Lab::new("");
    assert!(eventually(|| lab.connects("10.1.1.1")));
    for header in ["Origin:http://a.test", "Sec-Fetch-Site:cross-site", "Host:router.test"] {
        let (status, body) = lab.ask("/show/version", &format!("-H {header}"));
        assert_eq!(status, "403", "{header}: {body}");
    }
    assert_eq!(lab.ask("/show/version", "-H Sec-Fetch-Site:none").0, "200");
}

#[test]
fn peers_that_leave_connections_half_open_are_denied_for_a_while() {
    if !can_run() {
        return;
    }
    for namespace in ["", "appns web secret 7"] {
        let lab = Lab::new(namespace);
        assert!(eventually(|| lab.connects("10.1.1.1")));
        lab.router.tell("set acl-plugin acl deny src 10.1.0.0/16 dst 10.1.1.2/32");
        lab.router.tell("set acl-plugin interface tap1 output acl 0");
        lab.router.tell("auto-sdl enable threshold 1 remove-timeout 4");
        assert!(!lab.connects("10.1.1.1"));
        let is_denied = || lab.router.tell("show session sdl").contains("10.1.1.2/32");
        assert!(eventually(is_denied), "{}", lab.router.tell("show auto-sdl"));
        lab.router.tell("set acl-plugin interface tap1 output acl 0 del");
        assert!(!lab.connects("10.1.1.1"), "it is denied");
        assert!(eventually(|| !is_denied()));
        assert!(eventually(|| lab.connects("10.1.1.1")));
    }
}
