//! Closures of nodes that the compiler left out of line: such a one is compiled once, for the
//! oldest processor, and called from each of the variants that the engine has of its node.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Lists those of a built daemon by size, with `nm` of the binutils; fails if there are any.
pub fn check(program: &Path) -> ExitCode {
    let output = Command::new("nm").args(["-C", "--size-sort"]).arg(program).output();
    let text = match output {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            return ExitCode::FAILURE;
        }
        Err(e) => {
            eprintln!("nm: {e}");
            return ExitCode::FAILURE;
        }
    };
    let text = String::from_utf8_lossy(&text);
    let found: Vec<_> = text.lines().filter_map(closure).collect();
    for (bytes, name) in &found {
        println!("{name}: {bytes} bytes out of line: #[inline(always)] before its first |");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Size and name of a node's closure in a line of `nm`.
fn closure(line: &str) -> Option<(usize, &str)> {
    let (size, rest) = line.split_once(' ')?;
    let (_, name) = rest.split_once(' ')?;
    let is_node = name.contains("graph::node::Node>::process") || name.contains("Input>::poll");
    let size = usize::from_str_radix(size, 16).ok()?;
    (is_node && name.ends_with("{{closure}}")).then_some((size, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_of_nodes_are_told_from_others() {
        let name = "<net::fib::lookup::Lookup<F> as graph::node::Node>::process::{{closure}}";
        assert_eq!(closure(&format!("0000000000000390 t {name}")), Some((0x390, name)));
        for other in ["<a::B as graph::node::Node>::process", "a::b::{{closure}}", "a::process"] {
            assert_eq!(closure(&format!("0000000000000390 T {other}")), None);
        }
    }
}
