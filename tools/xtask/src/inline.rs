//! `process` of nodes and `poll` of inputs are `#[inline(always)]`: else the variants that the
//! engine compiles of them for other processors would all call one function for the oldest.

use crate::Finding;
use crate::source::Source;

pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in source.words("impl") {
        let rest = &source.code[at..];
        let header = &rest[..rest.find(['{', ';']).unwrap_or(rest.len())];
        let function = match trait_of(header) {
            Some("Node") => "fn process",
            Some("Input") => "fn poll",
            _ => continue,
        };
        let body = &source.code[at..source.end_of_item(at)];
        let Some(found) = body.find(function) else { continue };
        let line = source.line_of(at + found);
        if !source.is_test_line(line) && !is_marked(source, line) {
            let message = format!("`{}` of a node without #[inline(always)]", &function[3..]);
            findings.push(Finding::new(&source.path, line + 1, message));
        }
    }
    findings
}

/// The last path segment of the trait in `impl<…> Trait for Type`.
fn trait_of(header: &str) -> Option<&str> {
    let mut words = header.split_whitespace().rev().skip_while(|word| *word != "for").skip(1);
    words.next()?.rsplit("::").next()
}

fn is_marked(source: &Source, line: usize) -> bool {
    let lines: Vec<_> = source.code.lines().take(line).collect();
    let above = lines.iter().rev().take_while(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with("#[")
    });
    above.into_iter().any(|line| line.contains("#[inline(always)]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmarked_nodes_are_found() {
        let text = "impl Node for A {\n    const X: u8 = 1;\n    fn process(&mut self) {}\n}\n\
            impl<F> graph::Input for B<F> {\n    #[inline(always)]\n    // Why.\n\
                fn poll<On: Cpu>() {}\n}\n\
            impl Other for C {\n    fn process() {}\n}\n";
        let source = Source::new("a/src/lib.rs".into(), text.into());
        let lines: Vec<_> = check(&source).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3]);
    }
}
