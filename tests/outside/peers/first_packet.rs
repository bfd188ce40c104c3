//! The first packet after a rest: how long until the answer is there.

use std::time::{Duration, Instant};

use tests::{Daemon, eventually, is_timing_wanted, unique};

use super::Wire;
use super::memif::Slave;
use super::vhost_user::Driver;

/// Address of the router's interface.
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 0xaa];

/// Whether a sum of 16-bit words is made so that all of them add up to nothing.
fn sum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!(sum as u16)).to_be_bytes()
}

/// An echo request of 10.9.0.2 for the router.
fn request() -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 46, 0, 1, 0, 0, 64, 1, 0, 0, 10, 9, 0, 2, 10, 9, 0, 1];
    let check = sum(&ip);
    ip[10..12].copy_from_slice(&check);
    let mut icmp = vec![8, 0, 0, 0, 0, 7, 0, 1];
    icmp.resize(26, 0x55);
    let check = sum(&icmp);
    icmp[2..4].copy_from_slice(&check);
    [&ROUTER[..], &[2, 0, 0, 0, 0, 2, 8, 0], &ip, &icmp].concat()
}

/// Sends an echo request; the time until the answer.
fn ask(peer: &mut impl Wire) -> Option<Duration> {
    let request = request();
    while peer.receive().is_some() {}
    #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
    let start = Instant::now();
    peer.send(&request);
    while start.elapsed() < Duration::from_secs(1) {
        if let Some(frame) = peer.receive()
            && frame.get(12..14) == Some(&[8, 0])
            && frame.get(34) == Some(&0)
        {
            assert_eq!(frame[38..], request[38..], "it is our own");
            return Some(start.elapsed());
        }
        std::hint::spin_loop();
    }
    None
}

/// The best time of an answer after a rest.
fn check(kind: &str, router: &Daemon, interface: &str, peer: &mut impl Wire) {
    router.tell(&format!("set interface ip address {interface} 10.9.0.1/24"));
    router.tell(&format!("set ip neighbor {interface} 10.9.0.2 02:00:00:00:00:02 static"));
    // On the CPU of the data plane the two would wait for each other: by default that is not the
    // first one.
    let cpus = infra::cpu::allowed().expect("there are some");
    let _ = cpus.first().map(|first| infra::cpu::pin(*first));
    let is_there = || ask(peer).is_some();
    assert!(eventually(is_there), "{kind}: {}", router.tell("show errors"));
    let (rests, pause) = if is_timing_wanted() { (5, 10_000) } else { (2, 500) };
    let times = (0..rests).map(|_| {
        std::thread::sleep(Duration::from_millis(pause));
        ask(peer).expect("it answered before")
    });
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    println!("{kind}: answers after {pause} ms of rest: {times:?}");
    assert!(!is_timing_wanted() || times[0] < Duration::from_micros(100), "{kind}: {times:?}");
}

#[test]
fn the_first_packet_of_memif_is_answered_at_once() {
    let socket = format!("@{}", unique());
    let router = Daemon::start(&[
        &format!("create memif socket id 1 filename {socket}"),
        "create interface memif socket-id 1 master hw-addr 02:00:00:00:00:aa",
        "set interface state memif1/0 up",
    ]);
    check("memif", &router, "memif1/0", &mut Slave::connect(&socket));
}

#[test]
fn the_first_packet_of_vhost_user_is_answered_at_once() {
    let path = std::env::temp_dir().join(format!("{}-vhost", unique()));
    let socket = path.display().to_string();
    let name = "VirtualEthernet0/0/0";
    let router = Daemon::start(&[
        &format!("create vhost-user socket {socket} server hwaddr 02:00:00:00:00:aa"),
        &format!("set interface state {name} up"),
    ]);
    check("vhost-user", &router, name, &mut Driver::connect(&socket));
}
