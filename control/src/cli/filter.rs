//! Filters of output: `show interface | include eth | count`.
//!
//! A ` | ` outside of braces and before the name of a filter ends a command. Lines pass the filters
//! as they come: nothing is kept but the line that has no end yet.

use super::matching::Matcher;
use super::{Candidate, Error, Output};

/// Limit of filters after a command.
const MOST: usize = 8;
/// Longest line that is kept until its end comes; the rest counts as a line of its own.
const LONGEST_LINE: usize = 64 * 1024;
/// Names and purposes.
const NAMES: [(&str, &str); 5] = [
    ("include", "lines that a pattern is in"),
    ("exclude", "lines that a pattern is not in"),
    ("begin", "lines from the first one on that a pattern is in"),
    ("count", "the number of lines"),
    ("no-more", "all lines, without a stop at the end of each page"),
];

#[derive(Clone, Debug)]
enum Filter {
    Include(Matcher),
    Exclude(Matcher),
    /// Whether it has begun.
    Begin(Matcher, bool),
    Count(usize),
}

/// The filters after a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    all: Vec<Filter>,
    /// A line without an end.
    open: String,
    pub is_unpaged: bool,
}

/// Byte positions of the bars that may begin a filter: on their own, outside of braces.
fn bars(line: &str) -> Vec<usize> {
    if !line.contains('|') {
        return Vec::new();
    }
    let (bytes, mut depth) = (line.as_bytes(), 0_usize);
    let is_blank = |at: usize| bytes.get(at).is_none_or(u8::is_ascii_whitespace);
    let mut found = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 && at > 0 && is_blank(at - 1) && is_blank(at + 1) => found.push(at),
            _ => {}
        }
    }
    found
}

/// The word after the bar at byte `at`.
fn name(line: &str, at: usize) -> &str {
    line[at + 1..].split_whitespace().next().unwrap_or_default()
}

fn is_filter(name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == name)
}

/// The command, and the filters after it as they were written.
fn split(line: &str) -> Result<(&str, Vec<&str>), Error> {
    let bars = bars(line);
    let is_shown = line.split_whitespace().next().is_some_and(|first| "show".starts_with(first));
    // Other commands may have a bar among their words.
    let Some(first) = bars.iter().position(|at| is_shown || is_filter(name(line, *at))) else {
        return Ok((line, Vec::new()));
    };
    let ends = bars[first + 1..].iter().copied().chain([line.len()]);
    let filters = bars[first..].iter().zip(ends).map(|(at, end)| line[at + 1..end].trim());
    let filters: Vec<_> = filters.collect();
    if filters.len() > MOST {
        return Err(Error::bare(format!("at most {MOST} filters per command")));
    }
    Ok((&line[..bars[first]], filters))
}

/// Completions at the end of `line`, if that is after a bar.
pub(super) fn complete(line: &str) -> Option<Vec<Candidate>> {
    let at = *bars(line).last()?;
    let behind = line[at + 1..].trim_start();
    // A pattern follows, or another command has the bar among its words.
    let typed = behind.split(' ').next().unwrap_or_default();
    if behind.contains(' ') {
        return is_filter(typed).then(Vec::new);
    }
    let named = NAMES.iter().filter(|(name, _)| name.starts_with(typed));
    let candidate = |(word, help): &(&str, &str)| Candidate {
        word: (*word).to_owned(),
        help: (*help).to_owned(),
    };
    let found: Vec<_> = named.map(candidate).collect();
    (!found.is_empty()).then_some(found)
}

/// Whether a command asks for its output in one piece: `| no-more`.
pub fn is_unpaged(line: &str) -> bool {
    bars(line).iter().any(|at| name(line, *at) == "no-more")
}

impl Filters {
    /// Splits a line into the command and its filters.
    pub fn of(line: &str) -> Result<(&str, Self), Error> {
        let (command, written) = split(line)?;
        let mut filters = Self::default();
        for text in written {
            let (name, pattern) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            // As after the pipe of a shell.
            let (name, pattern) = match (name, pattern.trim()) {
                ("grep" | "egrep", pattern) => match pattern.strip_prefix("-v ") {
                    Some(pattern) => ("exclude", pattern.trim()),
                    None => ("include", pattern),
                },
                named => named,
            };
            let pattern = unquoted(pattern);
            let matcher = || match pattern {
                "" => Err(Error::bare(format!("{name} needs a pattern")).at(name)),
                pattern => Matcher::new(pattern)
                    .map_err(|why| Error::bare(format!("{name}: {why}")).at(pattern)),
            };
            let filter = match name {
                "include" => Filter::Include(matcher()?),
                "exclude" => Filter::Exclude(matcher()?),
                "begin" => Filter::Begin(matcher()?, false),
                "count" | "no-more" if !pattern.is_empty() => {
                    let why = format!("{name}: unknown input `{pattern}'");
                    return Err(Error::bare(why).at(pattern));
                }
                "count" => Filter::Count(0),
                "no-more" => {
                    filters.is_unpaged = true;
                    continue;
                }
                _ => {
                    let names = NAMES.map(|(name, _)| name);
                    let why = format!("expected {} after `|', got `{name}'", names.join(", "));
                    return Err(Error::bare(why).meaning(Some(name), names).at(name));
                }
            };
            filters.all.push(filter);
        }
        Ok((command, filters))
    }

    /// Whether output changes on its way.
    pub fn is_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The part of more output that passes.
    pub fn take(&mut self, output: Output, out: &mut Output) {
        if self.is_none() {
            return out.append(output);
        }
        let mut text = std::mem::take(&mut self.open);
        text += &output.to_text();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if text.len() - whole <= LONGEST_LINE {
            self.open = text.split_off(whole);
        }
        self.lines(&text, out);
    }

    /// Filters the rest, at the end of the output.
    pub fn finish(&mut self, out: &mut Output) {
        let rest = std::mem::take(&mut self.open);
        self.lines(&rest, out);
        for at in 0..self.all.len() {
            if let Filter::Count(count) = self.all[at] {
                // The next filters see the number as a line.
                let behind = &mut self.all[at + 1..];
                let line = count.to_string();
                if passes(behind, &line) {
                    out.append(Output::both(line, count));
                }
            }
        }
        self.all.clear();
    }

    fn lines(&mut self, text: &str, out: &mut Output) {
        let passed: Vec<_> = text.lines().filter(|line| passes(&mut self.all, line)).collect();
        if !passed.is_empty() {
            out.append(Output::both(passed.join("\n"), &passed));
        }
    }
}

/// Whether a line passes all filters.
fn passes(filters: &mut [Filter], line: &str) -> bool {
    filters.iter_mut().all(|filter| match filter {
        Filter::Include(pattern) => pattern.is_in(line),
        Filter::Exclude(pattern) => !pattern.is_in(line),
        Filter::Begin(pattern, has_begun) => {
            *has_begun |= pattern.is_in(line);
            *has_begun
        }
        Filter::Count(count) => {
            *count += 1;
            false
        }
    })
}

/// A pattern without the quotation marks around it.
fn unquoted(pattern: &str) -> &str {
    let inside = |mark: char| pattern.strip_prefix(mark)?.strip_suffix(mark);
    inside('"').or_else(|| inside('\'')).unwrap_or(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `show x` with filters after it, coming in pieces of three bytes.
    fn filtered(filters: &str, text: &str) -> String {
        let line = format!("show x {filters}");
        let (command, mut filters) = Filters::of(&line).unwrap();
        assert_eq!(command.trim(), "show x");
        let mut out = Output::none();
        for piece in text.as_bytes().chunks(3) {
            let piece = std::str::from_utf8(piece).unwrap();
            let mut part = Output::none();
            std::fmt::Write::write_str(&mut part, piece).unwrap();
            filters.take(part, &mut out);
        }
        filters.finish(&mut out);
        out.to_text()
    }

    const LINES: &str = "name state\neth0 up\neth1 down\nloop0 up\n";

    #[test]
    fn lines_pass_as_filters_say() {
        for (filters, left) in [
            ("| include eth", "eth0 up\neth1 down\n"),
            ("| include \"0 up\"", "eth0 up\nloop0 up\n"),
            ("| include 0 up", "eth0 up\nloop0 up\n"),
            ("| exclude up$", "name state\neth1 down\n"),
            ("| begin eth1", "eth1 down\nloop0 up\n"),
            ("| count", "4\n"),
            ("| include up | exclude loop", "eth0 up\n"),
            ("| include up | count", "2\n"),
            ("| include nothing", ""),
            ("| include nothing | count", "0\n"),
            ("| no-more", LINES),
            ("| count | count", "1\n"),
            ("| include loop|eth1", "eth1 down\nloop0 up\n"),
        ] {
            assert_eq!(filtered(filters, LINES), left, "{filters}");
        }
        assert_eq!(filtered("| include b", "a\nb"), "b\n", "the last line has no end");
    }

    #[test]
    fn bars_of_commands_stay_theirs() {
        for line in ["echo a | b", "capture { tcp | udp }", "echo a |count", "define x a | b"] {
            assert_eq!(Filters::of(line).unwrap().0, line);
        }
        let (command, filters) = Filters::of("echo a | b | count").unwrap();
        assert!(command == "echo a | b " && !filters.is_none());
        let mut long = "x".repeat(3 * LONGEST_LINE);
        long.push('\n');
        assert!(filtered("| include y", &long).is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |line: &str| Filters::of(line).unwrap_err().for_person();
        assert_eq!(error("show x | include"), "include needs a pattern");
        assert_eq!(error("show x | count 3"), "count: unknown input `3'");
        assert_eq!(error("show x | include [a"), "include: `[' without `]' in the pattern");
        assert_eq!(
            error("sh x | inclued a"),
            "expected include, exclude, begin, count, no-more after `|', got `inclued' (did you \
             mean `include'?)"
        );
        let many = "show x".to_owned() + &" | count".repeat(9);
        assert_eq!(error(&many), "at most 8 filters per command");
    }

    #[test]
    fn filters_are_offered_behind_a_bar() {
        let words = |line: &str| {
            let found = complete(line).unwrap_or_default();
            found.into_iter().map(|c| c.word).collect::<Vec<_>>()
        };
        assert_eq!(words("show x | ").len(), NAMES.len());
        assert_eq!(words("show x | in"), ["include"]);
        assert!(complete("show x | include e").is_some_and(|none| none.is_empty()));
        assert!(complete("show x ").is_none() && complete("show { | ").is_none());
        assert!(is_unpaged("show x | count | no-more") && !is_unpaged("show no-more"));
    }
}
