//! Flow records, as a collector in wide use reads them.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use tests::{Daemon, Host, eventually, has, is_root};

#[test]
fn nfdump_reads_the_times_and_the_ports_of_flows() {
    if !is_root() || !has("ip") || !has("nfcapd") || !has("nfdump") {
        return;
    }
    let collector = Host::alone();
    let folder = std::env::temp_dir().join(format!("flows-{}", tests::unique()));
    fs::create_dir_all(&folder).unwrap();
    let tap = format!(
        "create tap id 9 host-if-name eth0 host-ns {} host-ip4-addr 10.1.1.2/24",
        collector.namespace()
    );
    let daemon = Daemon::start(crate::GENERATORS);
    for line in [
        tap.as_str(),
        "set interface state tap9 up",
        "set interface ip address tap9 10.1.1.1/24",
        "set ipfix exporter collector 10.1.1.2 src 10.1.1.1 template-interval 1",
        "flowprobe params record l3 l4 active 1 passive 1 timestamps milliseconds",
        "flowprobe feature add-del pg0 ip4 rx",
        "packet-generator new { name s limit 20 size 100-100 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1000-1003 -> 53 incrementing 30 } }",
    ] {
        daemon.tell(line);
    }
    let running = collector.start(&format!("nfcapd -w {} -p 4739 -t 2", folder.display()));
    // The collector has to know the template before records come.
    std::thread::sleep(std::time::Duration::from_secs(3));
    daemon.generate();
    let read = || {
        let folder = folder.display();
        collector.attempt(&format!("nfdump -q -R {folder} -o csv")).1
    };
    let is_read = eventually(|| read().contains("16.0.0.1"));
    drop(running);
    let text = read();
    let _ = fs::remove_dir_all(&folder);
    assert!(is_read, "{text}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let year = 1970 + now / 31_556_952;
    let flows: Vec<_> = text.lines().filter(|line| line.contains("16.0.0.1")).collect();
    assert!(
        flows.len() >= 4 && flows.iter().all(|line| line.starts_with(&year.to_string())),
        "{text}"
    );
    assert!((1000..1004).all(|port: u16| text.contains(&format!("{port},53"))), "{text}");
}
