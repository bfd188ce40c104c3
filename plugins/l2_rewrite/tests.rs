//! Frames that leave with other bytes than they came with.

use l2_rewrite::FEATURE;
use net::testing::whole::{Bench, OTHER};

/// `pg0` and `pg1` in a bridge.
fn bench() -> Bench {
    let mut b = Bench::plugged(&[l2::FEATURE, classify::FEATURE, FEATURE]);
    for line in ["set interface l2 bridge pg0 1", "set interface l2 bridge pg1 1"] {
        assert_eq!(b.cli(line), "");
    }
    b
}

fn frame(src: u8) -> Vec<u8> {
    [&OTHER.0[..], &[2, 0, 0, 1, 0, src], &[0x88, 0xb5], &[7; 46]].concat()
}

fn sent(b: &mut Bench, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pg0 = b.pg0;
    let out = b.receive(pg0, frames);
    out.iter().filter(|c| c.at == "sent").map(|c| c.bytes.clone()).collect()
}

#[test]
fn sessions_name_the_entry_that_a_frame_is_rewritten_by() {
    for n in [1, 3, 4, 255, 256usize] {
        let mut b = bench();
        assert_eq!(b.cli("l2 rewrite entry mask ff0f value 5555 skip 14"), "rwe-index 0\n");
        assert_eq!(b.cli("l2 rewrite entry mask ffffffffffff value 020000000077"), "rwe-index 1\n");
        for line in [
            "classify table mask l2 src",
            "classify session table-index 0 match l2 src 02:00:00:01:00:01 opaque-index 0",
            "classify session table-index 0 match l2 src 02:00:00:01:00:09 opaque-index 9",
            "set interface l2 rewrite pg0 table 0 miss-index 1",
        ] {
            b.set(line);
        }
        b.graph.moved_counters();
        let out = sent(&mut b, &vec![frame(1); n]);
        assert_eq!((out.len(), &out[0][14..16]), (n, &[0x55, 0x05][..]));
        assert_eq!((&out[n - 1][..14], &out[n - 1][16..]), (&frame(1)[..14], &frame(1)[16..]));
        let out = sent(&mut b, &vec![frame(2); n]);
        assert_eq!((out.len(), &out[n - 1][..6]), (n, &[2, 0, 0, 0, 0, 0x77][..]));
        assert_eq!(sent(&mut b, &[frame(9)]), [frame(9)], "an entry that is not there");
        let shown = b.cli("show classify tables verbose");
        assert!(shown.contains(&format!("hits {n},")), "{shown}");
        // A domain may say that nothing is rewritten.
        assert_eq!(b.cli("set bridge-domain rewrite 1 disable"), "");
        assert_eq!(sent(&mut b, &[frame(2)]), [frame(2)]);
        assert_eq!(b.cli("set bridge-domain rewrite 1"), "");
        assert_ne!(sent(&mut b, &[frame(2)]), [frame(2)]);
        assert_eq!(b.cli("set interface l2 rewrite pg0"), "");
        assert_eq!(sent(&mut b, &[frame(2)]), [frame(2)]);
    }
}

#[test]
fn entries_and_tables_stay_while_they_are_used() {
    let mut b = bench();
    assert_eq!(b.cli("l2 rewrite entry mask ff value 01"), "rwe-index 0\n");
    assert_eq!(b.cli("classify table mask l2 src"), "");
    assert_eq!(b.cli("set interface l2 rewrite pg0 table 0 miss-index 0"), "");
    for (line, why) in [
        ("l2 rewrite entry index 0 del", "in use"),
        ("classify table del table 0", "in use"),
        ("l2 rewrite entry index 7 del", "no such entry"),
        ("l2 rewrite entry del", "expected index"),
        ("l2 rewrite entry mask ff", "expected mask and value"),
        ("l2 rewrite entry mask ffff value 01", "same length"),
        ("l2 rewrite entry mask ff value 01 skip 1024", "1024 bytes"),
        ("l2 rewrite entry mask fg value 01", "pairs of hexadecimal digits"),
        ("set interface l2 rewrite pg0 table 7", "no such table"),
        ("set interface l2 rewrite pg0 miss-index 7", "no such entry"),
        ("set interface l2 rewrite nowhere", "nowhere"),
        ("set bridge-domain rewrite 9", "no such bridge domain"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(b.cli("show l2 rewrite entries"), "0 - mask:ff value:01 skip:0\n");
    assert_eq!(b.cli("show l2 rewrite interfaces"), "pg0 - classify-table 0 miss-index 0\n");
    assert_eq!(b.cli("set interface l2 rewrite pg0"), "");
    assert_eq!(b.cli("l2 rewrite entry index 0 del"), "");
    assert_eq!(b.cli("classify table del table 0"), "");
    // A frame that is shorter than an entry is rewritten as far as it goes.
    let said = b.cli(&format!("l2 rewrite entry mask {0} value {0}", "ff".repeat(1024)));
    let index = said.strip_prefix("rwe-index ").expect("it is made").trim();
    assert_eq!(b.cli(&format!("set interface l2 rewrite pg0 miss-index {index}")), "");
    assert_eq!(sent(&mut b, &[frame(1)]), [vec![0xff; 60]]);
}
