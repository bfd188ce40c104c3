//! Start and end, again and again.

use tests::Daemon;

use crate::GENERATORS;

#[test]
fn twenty_times_started_and_ended() {
    for round in 0..20 {
        let mut daemon = Daemon::start(GENERATORS);
        if round % 2 == 0 {
            // Every other time while packets flow.
            daemon.tell(
                "packet-generator new { name s limit 0 size 64-64 interface pg0 \
                 node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
                 UDP: 10.0.0.2 -> 16.0.0.1 UDP: 1234 -> 2345 incrementing 22 } }",
            );
            daemon.tell("packet-generator enable");
        }
        let status = daemon.stop();
        assert!(status.is_some_and(|status| status.success()), "round {round}: {status:?}");
        assert!(!daemon.folder().join("cli.sock").exists(), "round {round}: socket left behind");
    }
}
