use super::*;
use crate::engine::NodeStats;

fn node(name: &str, state: Option<InputState>, calls: u64, vectors: u64, clocks: u64) -> NodeRow {
    let stats = NodeStats { calls, vectors, clocks, most: 6, passed: 0 };
    NodeRow { index: 0, name: name.to_owned(), state, stats }
}

fn thread(nodes: Vec<NodeRow>) -> ThreadRow {
    ThreadRow {
        thread: 0,
        name: "vpp_main".to_owned(),
        cpu: Some(1),
        seconds: 10.0,
        now: 52.46,
        loops: 24_188_594,
        input: 90,
        output: 80,
        drop: 2,
        punt: 0,
        nodes,
    }
}

fn process(name: &str, state: &str, calls: u64, suspends: u64, clocks: u64) -> ProcessRow {
    ProcessRow { name: name.to_owned(), state: state.to_owned(), calls, suspends, clocks }
}

#[test]
fn runtime_has_the_columns_that_scripts_know() {
    let nodes = vec![
        node("pg-input", Some(InputState::Disabled), 2, 9, 52_380),
        node("ip4-lookup", None, 1, 6, 12_420),
        node("never", None, 0, 0, 0),
    ];
    let processes = vec![
        process("bfd-process", "event wait", 0, 1, 6170),
        process("unix-cli-process-0", "running", 1495, 3054, 305_400_000),
        process("fib-walk", "any wait", 0, 26, 410_800),
        process("dhcp6-pd-reply-publisher-process", "event wait", 0, 1, 4150),
        process("statseg-collector-process", "suspended", 0, 6, 30_300_000),
    ];
    let runtime = Runtime { threads: vec![thread(nodes)], processes, detail: Detail::Busy };
    let expected = concat!(
        "Time 52.5, 10.000000 sec internal node vector rate 6.00 loops/sec 2418859.40\n",
        "  vector rates in 9.0000e0, out 8.0000e0, drop 2.0000e-1, punt 0.0000e0\n",
        "             Name                 State         Calls       ",
        "   Vectors        Suspends      ",
        "Packet-Clocks   Vectors/Call  \n",
        "bfd-process                   \"event wait\"               0",
        "               0               1",
        "          6.17e3            0.00\n",
        "dhcp6-pd-reply-publisher-proce\"event wait\"               0",
        "               0               1",
        "          4.15e3            0.00\n",
        "fib-walk                       \"any wait\"                0",
        "               0              26",
        "          1.58e4            0.00\n",
        "ip4-lookup                       active                  1  ",
        "             6               0",
        "          2.07e3            6.00\n",
        "pg-input                        disabled                 2  ",
        "             9               0",
        "          5.82e3            4.50\n",
        "statseg-collector-process      \"suspended\"               0",
        "               0               6",
        "          5.05e6            0.00\n",
        "unix-cli-process-0              \"running\"             1495",
        "               0            3054",
        "          1.00e5            0.00\n",
    );
    assert_eq!(runtime.to_string(), expected);
}

#[test]
fn threads_are_set_apart() {
    let mut second = thread(Vec::new());
    (second.thread, second.name, second.cpu) = (1, "vpp_wk_0".to_owned(), None);
    let threads = vec![thread(Vec::new()), second];
    let runtime = Runtime { threads, processes: Vec::new(), detail: Detail::Summary };
    let text = runtime.to_string();
    let heads: Vec<_> = text.lines().filter(|l| !l.starts_with(['T', ' '])).collect();
    assert_eq!(heads, ["---------------"]);
    assert!(text.starts_with("Thread 0 vpp_main (lcore 1)\nTime 52.5,"));
    assert!(text.contains("\nThread 1 vpp_wk_0 (lcore any)\n"));
}

fn lookup() -> NodeDetail {
    let edge =
        |slot, node, name: &str, vectors| EdgeCount { slot, node, name: name.to_owned(), vectors };
    NodeDetail {
        name: "ip4-lookup".to_owned(),
        kind: "internal",
        state: "active",
        index: 707,
        variants: vec![("default", 0, true, "default"), ("hsw", 50, false, "Intel Haswell")],
        next: vec![
            edge(0, 696, "ip4-drop", 0),
            edge(3, 606, "ip4-arp", 0),
            edge(10, 699, "ip4-mcast-midchain", 12),
        ],
        previous: vec![
            ("vxlan-gpe-encap".to_owned(), 27),
            ("udp-echo".to_owned(), 48),
            ("nat44-ei-in2out-hairpinning-finish-ip4-lookup".to_owned(), 179),
            ("ip4-input".to_owned(), 693),
        ],
    }
}

#[test]
fn node_detail_has_the_columns_that_scripts_know() {
    let expected = "\
node ip4-lookup, type internal, state active, index 707
  node function variants:
    Name             Priority  Active  Description
    default                 0    yes   default
    hsw                    50          Intel Haswell

  next nodes:
    next-index  node-index               Node               Vectors
         0          696                ip4-drop                0   
         3          606                 ip4-arp                0   
        10          699           ip4-mcast-midchain          12   

  known previous nodes:
    vxlan-gpe-encap (27)               udp-echo (48)                      \
nat44-ei-in2out-hairpinning-finish-
    ip4-input (693)                    
";
    assert_eq!(lookup().to_string(), expected);
}

#[test]
fn graph_has_the_columns_that_scripts_know() {
    let expected = "           \
Name                      Next                    Previous         
ip4-lookup                       ip4-drop [0]             vxlan-gpe-encap     
                                  ip4-arp [3]                udp-echo         
                            ip4-mcast-midchain [10] nat44-ei-in2out-hairpinnin
                                                             ip4-input        
";
    assert_eq!(GraphRows(vec![lookup()]).to_string(), expected);
}
