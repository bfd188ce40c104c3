//! Commands: what they print and what they refuse.

use super::*;

/// The set-up that the expected texts are of.
fn sample() -> Rig {
    let mut b = bench();
    b.set("set interface ip address pg0 10.0.0.1/24\nset interface ip address pg1 10.0.1.1/24");
    b.set("set interface ip address pg0 2001:db8:0::1/64");
    b.set("set interface ip address pg1 2001:db8:1::1/64");
    b.neighbor("pg1", "10.0.1.2");
    b.neighbor("pg1", "2001:db8:1::2");
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1 weight 1");
    b.set(
        "ip route add 18.0.0.0/8 via 16.0.0.1\nip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1",
    );
    b.set("ip table add 10");
    b
}

/// Numbers that depend on the order of things made are of no meaning: `#` in their place.
fn without_numbers(text: &str) -> String {
    let marks = [
        "index:",
        "uRPF:",
        "uPRF-list:",
        "path-list:[",
        "path:[",
        "pl-index:",
        "via-fib:",
        "cover:",
    ];
    let mut out = text.to_owned();
    for mark in marks.iter().chain(&["load-balance:", "next:", "locks:"]) {
        let mut at = 0;
        while let Some(found) = out[at..].find(mark) {
            at += found + mark.len();
            let digits = out[at..].bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 && !out[..at].ends_with("fib_index:") {
                out.replace_range(at..at + digits, "#");
            }
        }
    }
    out
}

const HEAD: &str = "ipv4-VRF:0, fib_index:0, flow hash:[src dst sport dport proto flowlabel ] \
                    epoch:0 flags:none \
                    locks:[adjacency:1, recursive-resolution:1, default-route:1, ]\n";
const VRF_10: &str = "ipv4-VRF:10, fib_index:1, flow hash:[src dst sport dport proto flowlabel ] \
                      epoch:0 flags:none locks:[CLI:1, ]\n";

#[test]
fn a_table_is_listed_with_its_load_balances() {
    let mut b = sample();
    let text = without_numbers(&b.run("show ip fib table 0"));
    assert!(text.starts_with(HEAD), "{text}");
    for route in [
        "0.0.0.0/0
  unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
    [0] [@0]: dpo-drop ip4
",
        "10.0.0.0/24
  unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
    [0] [@4]: ipv4-glean: [src:10.0.0.0/24] pg0: mtu:9000 next:# flags:[] ffffffffffff0200000000aa\
0806
",
        "10.0.0.1/32
  unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
    [0] [@12]: dpo-receive: 10.0.0.1 on pg0
",
        "17.0.0.0/8
  unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:4 uRPF:# to:[0:0]]
    [0-2] [@5]: ipv4 via 10.0.1.2 pg1: mtu:9000 next:# flags:[] 0200000000bb0200000000ab0800
    [3] [@3]: arp-ipv4: via 10.0.1.3 pg1
18.0.0.0/8
  unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
    [0] [@13]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
          [0] [@5]: ipv4 via 10.0.1.2 pg1: mtu:9000 next:# flags:[] 0200000000bb0200000000ab0800
224.0.0.0/4
",
    ] {
        assert!(text.contains(route), "{route} is not in {text}");
    }
    assert!(!text.contains("224.0.0.1"), "groups are no unicast routes");
    assert!(b.run("show ip fib").contains(VRF_10));
    assert_eq!(b.run("show ip fib").matches("unicast-ip4-chain").count(), 18 + 5);
}

#[test]
fn a_prefix_is_explained() {
    let mut b = sample();
    let text = without_numbers(&b.run("show ip fib 17.0.0.0/8"));
    let want = "17.0.0.0/8 fib:0 index:# locks:#
  CLI refs:1 src-flags:added,contributing,active,
    path-list:[#] locks:# flags:shared, uPRF-list:# len:1 itfs:[2, ]
      path:[#] pl-index:# ip4 weight=3 pref=0 attached-nexthop:  oper-flags:resolved,
        10.0.1.2 pg1
      [@0]: ipv4 via 10.0.1.2 pg1: mtu:9000 next:# flags:[] 0200000000bb0200000000ab0800
      path:[#] pl-index:# ip4 weight=1 pref=0 attached-nexthop:  oper-flags:resolved,
        10.0.1.3 pg1
      [@0]: arp-ipv4: via 10.0.1.3 pg1

 forwarding:   unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:4 uRPF:# to:[0:0]]
    [0-2] [@5]: ipv4 via 10.0.1.2 pg1: mtu:9000 next:# flags:[] 0200000000bb0200000000ab0800
    [3] [@3]: arp-ipv4: via 10.0.1.3 pg1
";
    let drop = "0.0.0.0/0 fib:1 index:# locks:#
  default-route refs:1 entry-flags:drop, src-flags:added,contributing,active,
    path-list:[#] locks:# flags:drop, uPRF-list:# len:0 itfs:[]
      path:[#] pl-index:# ip4 weight=1 pref=0 special:  cfg-flags:drop,
        [@0]: dpo-drop ip4

 forwarding:   unicast-ip4-chain
  [@0]: dpo-load-balance: [proto:ip4 index:# buckets:1 uRPF:# to:[0:0]]
    [0] [@0]: dpo-drop ip4
";
    let head = |text: &str| without_numbers(text);
    assert_eq!(text, [&head(HEAD), want, &head(VRF_10), drop].concat());
    let text = without_numbers(&b.run("show ip fib 18.9.9.9 table 0"));
    let via = "recursive:  oper-flags:resolved,
        via 16.0.0.1 in fib:0 via-fib:# via-dpo:[dpo-load-balance:#]

 forwarding:   unicast-ip4-chain
";
    assert!(text.contains(via), "{text}");
    let text = b.run("show ip fib 16.0.0.1");
    let source = "  recursive-resolution refs:1 src-flags:added,contributing,active, cover:";
    assert!(text.contains(source), "{text}");
    let text = b.run("show ip6 fib 2001:db8:ff::/48");
    let line = "    [0] [@5]: ipv6 via 2001:db8:1::2 pg1: mtu:9000 next:";
    assert!(text.contains(line) && text.contains("0200000000bb0200000000ab86dd"), "{text}");
}

#[test]
fn prefixes_are_counted_by_length() {
    let mut b = sample();
    let lengths = "    Prefix length         Count     
                   0               1
                   4               2
                   8               3
                  24               2
                  32              10
";
    let other = "    Prefix length         Count     
                   0               1
                   4               2
                  32               2
";
    assert_eq!(b.run("show ip fib summary"), [HEAD, lengths, VRF_10, other].concat());
    let six = "ipv6-VRF:0, fib_index:0, flow hash:[src dst sport dport proto flowlabel ] \
               epoch:0 flags:none locks:[adjacency:1, default-route:1, ]
    Prefix length         Count     
         128                3       
         64                 2       
         48                 1       
         10                 1       
          0                 1       
";
    assert_eq!(b.run("show ip6 fib summary"), six);
}

#[test]
fn tables_and_adjacencies_are_listed() {
    let mut b = sample();
    let tables = "[0] table_id:0 ipv4-VRF:0\n[1] table_id:10 ipv4-VRF:10\n";
    assert_eq!(b.run("show ip table"), tables);
    assert_eq!(b.run("show ip6 table"), "[0] table_id:0 ipv6-VRF:0\n");
    b.set("ip6 table add 20\nip6 table del 20\nip table add 10");
    assert_eq!(b.run("ip table add name chosen"), "1\n", "the first number that is free");
    b.set("ip table del 1");
    b.set("ip table name abc 30 add\nip6 table no-mfib 30 name x y\nip table 0x1f");
    assert_eq!(b.run("ip table no-mfib del 30"), "ip table: words that `del' does not take\n");
    b.set("ip6 table 30 del\nip table keep-routes 30 del\nip table 31 del");
    assert_eq!(b.run("show ip table"), tables);
    let all = b.run("show adj");
    assert_eq!(all.lines().count(), 2 + 2 + 2 + 3, "{all}");
    assert!(all.contains("ipv4-glean: [src:10.0.1.0/24] pg1: mtu:9000"), "{all}");
    let known = b.run("show adj nbr pg1");
    assert_eq!(known.lines().count(), 3);
    let first = known.split(['@', ']']).nth(1).unwrap();
    assert_eq!(
        b.run(&format!("show adjacency {first}")),
        known.lines().next().unwrap().to_owned() + "\n"
    );
    assert_eq!(b.run("show adj 9999"), "no adjacency 9999\n");
}

#[test]
fn wrong_routes_are_refused_in_known_words() {
    let mut b = sample();
    let before = (b.in_use(), b.run("show ip fib"), b.run("show ip6 fib"));
    for (line, error) in [
        ("ip route add 10.0.0.0/33 via 1.2.3.4", "Invalid prefix len: 33"),
        ("ip route add 2001:db8::/129 via ::1", "Invalid prefix len: 129"),
        (
            "ip route add 10.0.0.0/8 via 1.2.3.4 nosuch",
            "ip route: parse error `via 1.2.3.4 nosuch'",
        ),
        ("ip route add 2::/8 via 2001::1 nosuch", "ip route: parse error `via 2001::1 nosuch'"),
        ("ip route add 10.0.0.0/8 table 77 via 1.2.3.4", "ip route: Nonexistent table id 77"),
        ("ip route add 10.0.0.0/8 via 1.2.3.4 table 77", "ip route: Nonexistent table id 77"),
        ("ip route add 2::/8 table 77 via 2001::1", "ip route: Nonexistent table id 77"),
        (
            "ip route add 10.0.0.0/8 via 1.2.3.4 next-hop-table 77",
            "ip route: Nonexistent table id 77",
        ),
        ("ip route add 10.0.0.0/8 via ::1 next-hop-table 77", "ip route: Nonexistent table id 77"),
        (
            "ip route add 10.0.0.0/8 via ip6-lookup-in-table 0",
            "ip route: parse error `via ip6-lookup-in-table 0'",
        ),
        (
            "ip route add 10.0.0.0/8 via 1.2.3.4 weight 0",
            "ip route: parse error `via 1.2.3.4 weight 0'",
        ),
        ("ip route add 10.0.0.0/8 1.2.3.4", "ip route: parse error `1.2.3.4'"),
        ("ip route add 10.0.0.0/8 drop pg0", "ip route: parse error `drop pg0'"),
        ("ip route add 10.0.0.0/8 via", "ip route: parse error `via'"),
        ("ip route add 10.0.0.0 via 1.2.3.4", "ip route: parse error `10.0.0.0 via 1.2.3.4'"),
        ("ip route add 10.0.0.0/8", "ip route: missing path"),
        ("ip route add", "ip route: missing prefix"),
        ("ip route del 99.0.0.0/8", "ip route: 99.0.0.0/8: no such route"),
        ("ip route del 16.0.0.0/8 via 10.0.1.3 pg1", "ip route: 16.0.0.0/8: no such route"),
        ("ip route add count 0 9.0.0.0/8 drop", "ip route: count 0 exceeds the address space"),
        ("ip route add count 99 255.0.0.0/8 drop", "ip route: count 99 exceeds the address space"),
        ("ip table", "ip table: missing table id"),
        ("ip table del", "ip table: missing table id"),
        ("ip table flush 77", "ip table: Nonexistent table id 77"),
        ("ip6 table flush 77", "ip6 table: Nonexistent table id 77"),
        ("ip table del 0", "ip table: 0: the table is in use"),
        ("show ip fib table 77", "show ip fib: Nonexistent table id 77"),
        ("show ip fib bogus", "show ip fib: unknown input `bogus'"),
        ("show ip fib 10.0.0.0/40", "Invalid prefix len: 40"),
        ("show ip fib 2001::1", "show ip fib: 2001::1/128 is not of ip4"),
    ] {
        assert_eq!(b.run(line), error.to_owned() + "\n", "{line}");
    }
    assert_eq!((b.in_use(), b.run("show ip fib"), b.run("show ip6 fib")), before);
}

#[test]
fn many_routes_come_and_go_with_one_command() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add count 3000 16.0.0.0/30 via 10.0.1.2 pg1");
    b.set("ip route add count 3000 2001:db8::/64 via fe80::1 pg1");
    let [_, _, _, four, six, _] = b.in_use();
    assert_eq!((four - before[3], six - before[4]), (3000, 3000));
    let lead = b.leads("16.0.46.223");
    assert!(matches!(lead[..], [Via::Adjacency(_)]));
    assert_eq!(b.leads("16.0.46.224"), [Via::Drop]);
    assert!(matches!(b.leads("2001:db8:0:bb7::1")[..], [Via::Adjacency(_)]));
    assert_eq!(b.leads("2001:db8:0:bb8::1"), [Via::Drop]);
    assert_eq!(b.run("show ip fib").matches("/30\n").count(), 3000);
    b.set("ip route del count 3000 16.0.0.0/30 via 10.0.1.2 pg1");
    b.set("ip route del count 3000 2001:db8::/64");
    assert_eq!(b.in_use(), before);
}

#[test]
fn json_has_the_same_routes() {
    let mut b = sample();
    std::mem::swap(&mut b.graph.engine, &mut b.router.engine);
    let json = b.cli.run(&mut b.router, "show ip fib table 0 17.0.0.0/8").output.to_json();
    assert_eq!(json[0]["fib_index"], 0);
    assert_eq!(
        (json[1]["prefix"].as_str(), json[1]["sources"][0].as_str()),
        (Some("17.0.0.0/8"), Some("CLI"))
    );
    assert_eq!(json[1]["buckets"].as_array().unwrap().len(), 4);
}

#[test]
fn a_cancelled_command_leaves_nothing() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 16.0.0.5/32 via 10.0.1.2 pg1");
    let with_one = b.in_use();
    std::mem::swap(&mut b.graph.engine, &mut b.router.engine);
    let mut run =
        ::control::cli::Run::new("ip route add count 1000000 16.0.0.0/32 via 10.0.1.2 pg1");
    let mut out = ::control::cli::Output::none();
    assert_eq!(run.step(&b.cli, &mut b.router, &mut out), ::control::cli::Step::Again);
    assert!(b.in_use()[3] > with_one[3]);
    run.cancel(&mut b.router, &mut out);
    std::mem::swap(&mut b.graph.engine, &mut b.router.engine);
    assert!(b.router.fib.has_deferred());
    b.run("show ip fib summary");
    assert_eq!(b.in_use(), with_one, "what was there before stays");
    b.set("ip route del 16.0.0.5/32");
    assert_eq!(b.in_use(), before);
}

#[test]
fn link_local_routes_are_shown_by_interface() {
    let mut b = bench();
    b.set("enable ip6 interface pg1\nenable ip6 interface pg2");
    let shown = b.run("show ip6-ll");
    let both = ["pg1", "pg2"].map(|on| shown.contains(&format!("-link-local:{on}, ")));
    assert_eq!(both, [true; 2], "{shown}");
    let shown = b.run("show ip6-ll pg2 fe80::ff:fe00:ac");
    assert!(!shown.contains("pg1") && shown.contains("fe80::ff:fe00:ac/128"), "{shown}");
    assert_eq!(b.run("show ip6-ll pg7"), "show ip6-ll: unknown interface `pg7'\n");
}

#[test]
fn what_routes_are_made_of_is_shown_by_number() {
    let mut b = sample();
    let list = b.run("show fib path-lists 0");
    let lines: Vec<_> = list.lines().collect();
    assert!(lines[0].starts_with("path-list:[0] locks:"), "{list}");
    assert!(lines[0].ends_with(" flags:drop, uPRF-list:0 len:0 itfs:[]"), "{list}");
    let path = "  path:[0] pl-index:0 ip4 weight=1 pref=0 special:  cfg-flags:drop,";
    assert_eq!(&lines[1..], [path, "    [@0]: dpo-drop ip4"]);
    let all = b.run("show fib path-lists");
    assert!(all.contains("attached-nexthop:  oper-flags:resolved,\n    10.0.1.2 pg1\n"), "{all}");
    assert!(b.run("show fib paths").lines().all(|l| !l.contains("path-list")));
    assert!(b.run("show fib uRPF").contains(" len:1 itfs:["));
    let entries = b.run("show fib entry");
    assert!(entries.contains("@ipv4-VRF:0 0.0.0.0/0\n"), "{entries}");
    assert!(entries.contains("@ipv6-VRF:0 ::/0\n"), "{entries}");
    let first = entries.lines().next().unwrap();
    let only = b.run(&format!("show fib entry {}", first.split('@').next().unwrap()));
    assert!(only.contains(first) && only.len() < entries.len(), "{only}");
    assert_eq!(b.run("show fib entry 99999"), "");
    let balances = b.run("show load-balance");
    assert!(
        balances.starts_with("dpo-load-balance: [proto:ip4 index:1 buckets:1 uRPF:"),
        "{balances}"
    );
    assert_eq!(b.run("show load-balance 9999"), "show load-balance: no object 9999\n");
    assert!(b.run("show fib source").contains("[7] CLI prio:88\n"));
    assert!(b.run("show fib source prio").starts_with("[1] special prio:16\n"));
    assert!(b.run("show fib memory").contains("        IPv4 unicast           2"));
    assert!(b.run("show ip fib mtrie").contains("8-8-8-8: "));
    assert!(b.run("show ip6 fib mtrie").contains("memory usage"));
}

#[test]
fn what_is_behind_load_balances_is_shown() {
    let mut b = sample();
    let maps = b.run("show load-balance-map");
    let first = maps.lines().next().unwrap_or_default();
    assert!(first.ends_with(" buckets:4"), "{maps}");
    assert!(maps.contains("\n   index:    0    1    2    3\n     map:    0    0    0    1\n"));
    assert_eq!(maps.matches("load-balance-map:").count(), 1, "others have one bucket: {maps}");
    let index = first.split([':', ' ']).nth(3).unwrap().to_owned();
    assert_eq!(b.run(&format!("show load-balance-map {index}")), maps);
    let none = "show load-balance-map: no object 999\n";
    assert_eq!(b.run("show load-balance-map 999"), none);
    // One of the two is lost: the other has all.
    b.set("ip route del 17.0.0.0/8 via 10.0.1.2 pg1");
    assert_eq!(b.run("show load-balance-map"), "");
    assert_eq!(b.run("show lookup-dpo").matches("lookup in").count(), 0);
    b.set("ip route add 19.0.0.0/8 ip4-lookup-in-table 10");
    let text = b.run("show lookup-dpo");
    assert!(text.contains("dst-address,unicast lookup in ipv4-VRF:10"), "{text}");
}

#[test]
fn memory_of_what_lookups_find_and_search_is_shown() {
    let mut b = sample();
    let counts = |b: &mut Rig| {
        let text = b.run("show dpo memory");
        let row = |line: &str| line.split_whitespace().nth(2).and_then(|n| n.parse().ok());
        text.lines().filter_map(row).collect::<Vec<u32>>()
    };
    let before = counts(&mut b);
    assert_eq!(before.len(), 3, "{before:?}");
    b.set("ip route add 20.0.0.0/8 via 10.0.1.7 pg1 via 10.0.1.8 pg1");
    let after = counts(&mut b);
    assert!(after[0] > before[0], "load balances");
    assert_eq!(after[1], before[1] + 2, "buckets");
    assert_eq!(after[2], before[2] + 2, "adjacencies");
    let tables = b.run("show bihash");
    let elements = |text: &str, name: &str| {
        let line = text.split_once(&format!("Table '{name}'\n    ")).unwrap().1;
        line.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let name = "ip4 FIB fwding table ipv4-VRF:0";
    let count = elements(&tables, name);
    assert_eq!(count, b.router.fib.len::<Ip4>(TableIndex::DEFAULT));
    assert!(tables.contains("Table 'ip6 FIB fwding table ipv6-VRF:0'\n"), "{tables}");
    b.set("ip route add count 100000 30.0.0.0/32 via 10.0.1.2 pg1");
    let bytes = |text: &str| {
        let table = text.split_once(name).unwrap().1;
        let used = table.split_once("memory usage ").unwrap().1;
        used.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let more = b.run("show bihash");
    assert_eq!(elements(&more, name), count + 100_000);
    assert!(bytes(&more) > bytes(&tables), "{more}");
}

#[test]
fn routes_are_shown_a_page_at_a_time() {
    let mut b = bench();
    let prefixes = |text: &str| -> Vec<String> {
        let is_prefix = |line: &&str| line.contains('/') && !line.starts_with([' ', 'i']);
        text.lines().filter(is_prefix).map(str::to_owned).collect()
    };
    let all = prefixes(&b.run("show ip fib table 0"));
    let (mut seen, mut last) = (Vec::new(), None::<String>);
    loop {
        let after = last.as_ref().map_or_else(String::new, |last| format!("after {last} "));
        let page = prefixes(&b.run(&format!("show ip fib table 0 {after}count 2")));
        let Some(end) = page.last() else { break };
        assert!(page.len() <= 2);
        last = Some(end.clone());
        seen.extend(page);
    }
    assert!(all.len() > 4 && seen == all, "{seen:?}");
    let between = prefixes(&b.run("show ip fib table 0 after 1.2.3.4/32 count 1"));
    assert_eq!(between.len(), 1, "a prefix that is not there is a place too");
    let why = "show ip fib: 2001:db8::/32 is not of ip4\n";
    assert_eq!(b.run("show ip fib after 2001:db8::/32"), why);
}
