//! Files of at most 500 lines without tests, functions of at most 70, lines of at most 100 columns.

use crate::Finding;
use crate::source::Source;

const FILE: usize = 500;
const FUNCTION: usize = 70;
const LINE: usize = 100;

pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.code_lines().count();
    if lines > FILE {
        let message = format!("{lines} lines without tests; at most {FILE}, split it by concept");
        findings.push(Finding::new(&source.path, 1, message));
    }
    if source.is_test_file() {
        return findings; // what a router is expected to print is as long as it is
    }
    for (number, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE {
            let message = format!("{columns} columns; at most {LINE}");
            findings.push(Finding::new(&source.path, number + 1, message));
        }
    }
    for at in source.words("fn") {
        let (first, last) = (source.line_of(at), source.line_of(source.end_of_item(at)));
        let lines = last - first + 1;
        if lines > FUNCTION {
            let message = format!("function of {lines} lines; at most {FUNCTION}");
            findings.push(Finding::new(&source.path, first + 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: String) -> Vec<(usize, String)> {
        let source = Source::new("x/src/lib.rs".into(), text);
        check(&source).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn tests_do_not_count_as_length_of_a_file() {
        let code = "const A: u8 = 1;\n".repeat(500);
        assert!(findings(format!("{code}#[cfg(test)]\nmod tests {{\n\n}}\n")).is_empty());
        assert_eq!(findings(format!("{code}\n"))[0].0, 1);
    }

    #[test]
    fn long_functions_and_lines_are_found() {
        let text = format!("\nfn a() {{\n{}}}\n//{}\n", "b();\n".repeat(69), "x".repeat(99));
        let found = findings(text);
        assert_eq!(found[0], (73, "101 columns; at most 100".into()));
        assert_eq!(found[1], (2, "function of 71 lines; at most 70".into()));
    }
}
