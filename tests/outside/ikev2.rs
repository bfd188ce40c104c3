//! strongSwan as the other end of IKEv2 and ESP, beginning and answering, with a shared key and
//! with certificates of an authority. Its ESP is its own (kernel-libipsec), and so always over UDP.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use tests::{Daemon, Host, Running, eventually, has, is_root, skip};

const CHARON: &str = "/usr/lib/ipsec/charon";

/// How both prove their identities.
#[derive(Clone, Copy, PartialEq)]
enum Auth {
    SharedKey,
    Rsa,
    Ecdsa,
}

struct Lab {
    router: Daemon,
    there: Host,
    _charon: Running,
    _here: Host,
}

/// Certificates of one authority for both ends, and their keys.
fn certify(there: &Host, folder: &Path, auth: Auth) {
    let new = match auth {
        Auth::Rsa => "-newkey rsa:2048",
        _ => "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1",
    };
    let mut script = format!(
        "set -e\ncd {}\nmkdir -p x509 x509ca private\n\
         openssl req -x509 {new} -nodes -days 2 -subj /O=T/CN=ca \
         -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out x509ca/ca.pem\n",
        folder.display()
    );
    for end in ["here", "there"] {
        writeln!(
            script,
            "openssl req {new} -nodes -subj /O=T/CN={end} -keyout {end}.key -out {end}.csr\n\
             printf 'subjectAltName=DNS:{end}.test\\nbasicConstraints=CA:FALSE\\n' > {end}.ext\n\
             openssl x509 -req -in {end}.csr -CA x509ca/ca.pem -CAkey ca.key -CAcreateserial \
             -days 2 -extfile {end}.ext -out {end}.pem"
        )
        .unwrap();
    }
    script.push_str("cp there.pem x509; cp there.key private; cat here.key here.pem > own.pem\n");
    let file = folder.join("certify.sh");
    fs::write(&file, script).unwrap();
    there.run(&format!("sh {}", file.display()));
}

/// The configuration of strongSwan.
fn configured(folder: &Path, auth: Auth, rekey: &str) -> String {
    let conf = format!(
        "charon {{\n load = random nonce aes sha1 sha2 hmac pem pkcs1 pkcs8 x509 pubkey openssl \
         gcm chapoly curve25519 kdf revocation constraints kernel-libipsec kernel-netlink \
         socket-default vici\n retransmit_timeout = 2\n \
         plugins {{ vici {{ socket = unix://{}/vici }} }}\n}}\n",
        folder.display()
    );
    fs::write(folder.join("strongswan.conf"), conf).unwrap();
    let (own, other, secrets) = match auth {
        Auth::SharedKey => ("auth = psk", "auth = psk", "ike { secret = \"one for both\" }"),
        _ => ("auth = pubkey\ncerts = there.pem", "auth = pubkey\ncacerts = ca.pem", ""),
    };
    format!(
        "connections {{ t {{\n version = 2\n proposals = aes256gcm16-prfsha256-ecp256,aes128-sha256-modp2048\n\
         local_addrs = 10.9.0.2\n remote_addrs = 10.9.0.1\n\
         local {{\n {own}\n id = there.test\n }}\n remote {{\n {other}\n id = here.test\n }}\n\
         children {{ c {{\n local_ts = 192.168.2.0/24\n remote_ts = 192.168.1.0/24\n\
         esp_proposals = aes256gcm16,aes256-sha256\n {rekey}\n }} }}\n}} }}\nsecrets {{ {secrets} }}\n"
    )
}

impl Lab {
    fn new(auth: Auth, rekey: &str, more: &[&str]) -> Self {
        let (here, there) = (Host::alone(), Host::alone());
        here.connect("v0", &there, "p0");
        there.run("ip addr add 10.9.0.2/24 dev p0");
        there.run("ip link set lo up");
        there.run("ip addr add 192.168.2.1/32 dev lo");
        let router = Daemon::start_in(
            here.namespace(),
            "",
            &[
                "create host-interface name v0",
                "set interface state host-v0 up",
                "set interface ip address host-v0 10.9.0.1/24",
                "create loopback interface",
                "set interface state loop0 up",
                "set interface ip address loop0 192.168.1.1/24",
                "create ipip tunnel src 10.9.0.1 dst 10.9.0.2",
                "set interface unnumbered ipip0 use loop0",
                "set interface state ipip0 up",
                "ip route add 192.168.2.0/24 via ipip0",
                "ikev2 profile add p",
                "ikev2 profile set p id local fqdn here.test",
                "ikev2 profile set p id remote fqdn there.test",
                "ikev2 profile set p traffic-selector local ip-range 192.168.1.0 - 192.168.1.255 \
                 port-range 0 - 65535 protocol 0",
                "ikev2 profile set p traffic-selector remote ip-range 192.168.2.0 - 192.168.2.255 \
                 port-range 0 - 65535 protocol 0",
                "ikev2 profile set p tunnel ipip0",
                "ikev2 profile set p responder host-v0 10.9.0.2",
            ],
        );
        let folder = router.folder().join("swan");
        fs::create_dir(&folder).unwrap();
        if auth == Auth::SharedKey {
            router.tell("ikev2 profile set p auth shared-key-mic string {one for both}");
        } else {
            certify(&there, &folder, auth);
            let at = folder.display();
            router.tell(&format!("set ikev2 local key {at}/own.pem"));
            router.tell(&format!("ikev2 profile set p auth rsa-sig cert-file {at}/x509ca/ca.pem"));
        }
        more.iter().for_each(|line| drop(router.tell(line)));
        fs::write(folder.join("swanctl.conf"), configured(&folder, auth, rekey)).unwrap();
        let (at, script) = (folder.display(), folder.join("charon.sh"));
        // Its files below /run are its own.
        let text = format!(
            "mount -t tmpfs none /run\nexport STRONGSWAN_CONF={at}/strongswan.conf\n\
             exec {CHARON} > {at}/log 2>&1\n"
        );
        fs::write(&script, text).unwrap();
        let charon = there.start(&format!("unshare -m sh {}", script.display()));
        let lab = Self { router, there, _charon: charon, _here: here };
        assert!(eventually(|| lab.swanctl("--stats").0), "charon does not start: {}", lab.log());
        assert!(lab.swanctl("--load-all").0, "{}", lab.swanctl("--load-all").1);
        lab
    }
    fn swanctl(&self, words: &str) -> (bool, String) {
        let at = self.router.folder().join("swan");
        let at = at.display();
        self.there.attempt(&format!("env SWANCTL_DIR={at} STRONGSWAN_CONF={at}/strongswan.conf swanctl {words} --uri unix://{at}/vici"))
    }
    fn log(&self) -> String {
        let log = self.router.folder().join("swan/log");
        fs::read_to_string(log).unwrap_or_default() + &self.router.tell("show logging")
    }
    fn is_up(&self) -> bool {
        let (_, list) = self.swanctl("--list-sas");
        let shown = self.router.tell("show ikev2 sa details");
        list.contains("INSTALLED") && shown.contains("state AUTHENTICATED")
    }
    /// Pings through the tunnel that come back.
    fn pings(&self, count: u32) -> String {
        self.there.attempt(&format!("ping -c {count} -i 0.05 -I 192.168.2.1 192.168.1.1")).1
    }
    #[track_caller]
    fn assert_carries(&self, count: u32) {
        let text = self.pings(count);
        let errors = || self.router.tell("show errors") + &self.router.tell("show ipsec sa");
        assert!(text.contains(" 0% packet loss"), "{text}\n{}\n{}", errors(), self.log());
    }
}

fn is_there() -> bool {
    if !(is_root() && has("ip") && has("openssl")) {
        return false;
    }
    let is_there = Path::new(CHARON).exists() && has("swanctl");
    if !is_there {
        skip("strongSwan (charon, swanctl) is not installed");
    }
    is_there
}

#[test]
fn strong_swan_begins_and_is_answered() {
    if !is_there() {
        return;
    }
    for auth in [Auth::SharedKey, Auth::Rsa, Auth::Ecdsa] {
        let lab = Lab::new(auth, "", &[]);
        let (is_ok, text) = lab.swanctl("--initiate --child c --timeout 20");
        assert!(is_ok, "{text}\n{}", lab.log());
        assert!(lab.is_up());
        lab.assert_carries(20);
        // It deletes what it began.
        lab.swanctl("--terminate --ike t --timeout 10");
        assert!(eventually(|| lab.router.tell("show ikev2 sa").is_empty()));
        assert!(eventually(|| lab.router.tell("show ipsec sa").is_empty()));
    }
}

#[test]
fn strong_swan_answers_and_deletions_reach_it() {
    if !is_there() {
        return;
    }
    for auth in [Auth::SharedKey, Auth::Ecdsa] {
        let lab = Lab::new(
            auth,
            "",
            &[
                "ikev2 profile set p ike-crypto-alg aes-cbc 128 \
            ike-integ-alg hmac-sha2-256-128 ike-dh modp-2048",
                "ikev2 profile set p esp-crypto-alg aes-cbc 256 esp-integ-alg hmac-sha2-256-128",
            ],
        );
        lab.router.tell("ikev2 initiate sa-init p");
        assert!(eventually(|| lab.is_up()), "{}", lab.log());
        lab.assert_carries(20);
        let shown = lab.router.tell("show ikev2 sa");
        let spi = shown.split("ispi ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        lab.router.tell(&format!("ikev2 initiate del-sa {spi}"));
        let is_gone = || !lab.swanctl("--list-sas").1.contains("ESTABLISHED");
        assert!(eventually(is_gone), "{}", lab.log());
    }
}

#[test]
fn keys_are_replaced_under_traffic_and_nothing_is_lost() {
    if !is_there() {
        return;
    }
    let lab = Lab::new(Auth::SharedKey, "rekey_time = 3s\nrand_time = 0s\nlife_time = 30s", &[]);
    let (is_ok, text) = lab.swanctl("--initiate --child c --timeout 20");
    assert!(is_ok, "{text}\n{}", lab.log());
    lab.assert_carries(200);
    let rekeyed = |lab: &Lab| lab.log().matches("inbound CHILD_SA c").count();
    assert!(lab.swanctl("--rekey --ike t").0);
    lab.assert_carries(100);
    assert!(rekeyed(&lab) >= 2, "{}", lab.log());
    assert!(lab.is_up() && lab.router.tell("show logging").contains("is rekeyed"));
    // From this side.
    let shown = lab.router.tell("show ikev2 sa details");
    let spi = shown.rsplit("spi(i) ").next().and_then(|rest| rest.split(' ').next()).unwrap();
    lab.router.tell(&format!("ikev2 initiate rekey-child-sa {spi}"));
    lab.assert_carries(100);
}
