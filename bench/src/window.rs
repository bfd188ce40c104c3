//! A window of `show runtime`: rates and clocks of nodes between two readings.

use serde::Serialize;

/// The generator: it stands for the wire and is left out of the sum.
const GENERATOR: &str = "pg-input";

/// One window of measurement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Window {
    /// Million packets per second received.
    pub mpps: f64,
    /// Million packets per second sent.
    pub out: f64,
    /// The same that were dropped.
    pub drop: f64,
    /// Time-stamp clocks a packet, all nodes but the generator.
    pub clocks: f64,
    /// The same node by node.
    pub nodes: Vec<(String, f64)>,
    /// Clock of the core around the window.
    pub core_ghz: f64,
}

impl Window {
    /// Reads the output of `show runtime`; `None` if it is not that.
    pub fn parse(text: &str) -> Option<Self> {
        let rates = text.lines().find(|line| line.contains("vector rates in "))?;
        let rate = |word: &str| -> Option<f64> {
            let mut words = rates.split([' ', ',']).skip_while(|w| *w != word).skip(1);
            Some(words.find(|w| !w.is_empty())?.parse::<f64>().ok()? / 1e6)
        };
        // Name, state, calls, vectors, suspends, clocks, vectors a call.
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [.., calls, vectors, _, clocks, _] = words[..] else { return None };
            calls.parse::<u64>().ok()?;
            let (vectors, clocks) = (vectors.parse::<f64>().ok()?, clocks.parse::<f64>().ok()?);
            (vectors > 0.0 && words.len() >= 7).then(|| (words[0].to_owned(), vectors, clocks))
        };
        let rows: Vec<_> = text.lines().filter_map(row).collect();
        let packets = rows.iter().find(|r| r.0 == GENERATOR).map_or(1.0, |r| r.1);
        let rows = rows.into_iter().filter(|r| r.1 >= packets / 100.0);
        let nodes: Vec<_> = rows.map(|(name, n, clocks)| (name, n * clocks / packets)).collect();
        let clocks = nodes.iter().filter(|n| n.0 != GENERATOR).map(|n| n.1).sum();
        let (mpps, out, drop) = (rate("in")?, rate("out")?, rate("drop")?);
        Some(Self { mpps, out, drop, clocks, nodes, core_ghz: 0.0 })
    }
    /// Whether nothing was lost.
    pub fn is_lossless(&self) -> bool {
        self.mpps > 0.0 && self.drop == 0.0 && self.out >= 0.98 * self.mpps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Time 2.0, 10 sec internal node vector rate 256.00 loops/sec 1.00
  vector rates in 1.0000e7, out 1.0000e7, drop 0.0000e0, punt 0.0000e0
  Name  State  Calls  Vectors  Suspends  Clocks  Vectors/Call
ip4-lookup  active  100  25600  0  1.50e1  256.00
pg-input  polling  100  25600  0  1.20e1  256.00
pg1-output  active  50  12800  0  8.00e0  256.00
unix-cli-process  event wait  1  1  1  8.00e4  1.00
";

    #[test]
    fn clocks_are_per_packet_of_the_generator() {
        let window = Window::parse(TEXT).unwrap();
        assert_eq!((window.mpps, window.clocks, window.nodes.len()), (10.0, 19.0, 3));
        assert!(window.is_lossless());
        assert!(Window::parse("unknown input").is_none());
    }
}
