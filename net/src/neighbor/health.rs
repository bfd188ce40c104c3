//! Health of the neighbour table: whether there is room for new neighbours.
#![forbid(unsafe_code)]

use wire::IpVersion;

use crate::health::{Check, Findings, Severity};
use crate::router::Router;

pub(super) fn register(router: &mut Router) {
    router.check_health(Check {
        name: "neighbour-table",
        about: "there is room for new neighbours",
        look,
    });
}

fn look(router: &mut Router, found: &mut Findings) {
    let table = &router.neighbors().table;
    for version in IpVersion::ALL {
        let of = version as usize;
        let (count, limit) = (table.count(of), table.configs[of].limit);
        if limit == 0 || count < limit {
            continue;
        }
        let subject = ["IPv4 neighbours", "IPv6 neighbours"][of];
        let refused = match table.refused[of] {
            0 => String::new(),
            refused => format!("; {refused} new ones were rejected"),
        };
        let most = table.greediest(of).map_or(String::new(), |(on, count)| {
            format!(", {count} of them on {}", router.interfaces.name(on.0))
        });
        let text =
            format!("the table is full with {count}{most}{refused} (see `set ip neighbor-config')");
        found.add(Severity::Error, subject, text);
    }
}

#[cfg(test)]
mod tests {
    use crate::health::Severity;
    use crate::neighbor::testing::{Bench, HOST, bytes, request, solicitation, summed};

    #[test]
    fn a_full_table_is_named_with_the_interface_that_filled_it() {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        for (ip, what) in [("ip4", "IPv4"), ("ip6", "IPv6")] {
            b.set(&format!("set ip neighbor-config {ip} limit 4"));
            for n in 2..8 {
                let asked = match ip {
                    "ip4" => bytes(request(HOST, &format!("10.0.0.{n}"), "10.0.0.1")),
                    _ => summed(&solicitation(&format!("2001:db8::{n}"), "2001:db8::1"), 0),
                };
                b.receive(pg0, &[asked]);
            }
            let health = b.control(|router, _| router.health());
            let found: Vec<_> =
                health.findings.iter().filter(|f| f.check == "neighbour-table").collect();
            let about = format!("{what} neighbours");
            let finding = found.iter().find(|f| f.subject == about).unwrap();
            assert_eq!(finding.severity, Severity::Error);
            let text = "full with 4, 4 of them on pg0; 2 new ones were rejected";
            assert!(finding.text.contains(text), "{}", finding.text);
        }
    }
}
