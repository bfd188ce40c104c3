//! As many sessions as a thread may have.

use std::time::Duration;

use super::super::apps;
use super::super::apps::Options;
use super::super::key::Key;
use super::super::session::{Inner, Life};
use super::super::worker::{New, SESSIONS, Worker};
use super::bounds::each;
use super::*;

/// Processor time that a thread may spend between two loops for the control thread.
const MOST: Duration = Duration::from_millis(2);

/// Fills all places with sessions of an application, up to its share.
fn fill(worker: &mut Worker, app: u32, peer: u32) {
    let local = "10.0.0.1:7".parse().unwrap();
    for n in 0..SESSIONS as u32 {
        let peer =
            SocketAddr::new([10, peer as u8, (n >> 8) as u8, n as u8].into(), 1 + (n >> 16) as u16);
        let new = New {
            key: Key::of(local, peer, Protocol::UDP, 0),
            inner: Inner::Udp,
            app,
            listener: 0,
            namespace: 0,
            life: Life::Ready,
            limits: [4096; 2],
            data: 0,
        };
        if worker.insert(new).is_none() {
            return;
        }
    }
}

fn longest(bench: &mut Bench) -> Duration {
    each(bench, |worker| std::mem::take(&mut worker.longest))[0]
}

#[test]
fn forwarding_never_waits_for_the_end_of_many_sessions() {
    let mut bench = bench(1);
    let name = |n: u32| format!("app{n}");
    let all: Vec<_> = (0..4)
        .map(|n| attach(&mut bench, &name(n), Options::default(), (b"", false, true)).0)
        .collect();
    let apps = all.clone();
    each(&mut bench, move |worker| {
        (1..).zip(&apps).for_each(|(n, app)| fill(worker, *app, n));
    });
    let sessions = each(&mut bench, |worker| worker.sessions.len())[0];
    assert!(sessions > SESSIONS - 100, "{sessions}");
    longest(&mut bench);
    let queued = |bench: &mut Bench| each(bench, |worker| worker.queued())[0];
    bench.control(|router, _| apps::detach(router, all[1]));
    let (detached, few) = (longest(&mut bench), queued(&mut bench));
    bench.set("set interface ip address del pg0 10.0.0.1/24");
    let (deleted, most) = (longest(&mut bench), queued(&mut bench));
    println!("application detached: {detached:?}, address deleted: {deleted:?}");
    assert!(few > 10_000 && most > 100_000, "{few}, {most}");
    assert!(detached < MOST && deleted < MOST, "{detached:?}, {deleted:?}");
    bench.set("session disable");
    assert_eq!(bench.run("show app").lines().count(), 1);
}
