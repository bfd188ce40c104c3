//! Patterns that lines are searched for: regular expressions without groups.
//!
//! `.` is any character, `[a-z]` and `[^a-z]` sets, `*` any number of what is before it, `^` and
//! `$` the ends of the line, `|` separates alternatives, and `\` takes the next character as it
//! is. All alternatives are followed at once, so a search takes no longer than the length of the
//! line times that of the pattern. Lower case in a pattern without capitals finds both cases.

/// Longest pattern, in characters.
const LONGEST: usize = 256;

/// A pattern that lines are searched for.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    alternatives: Vec<Alternative>,
    /// Whether capitals count.
    is_exact: bool,
}

#[derive(Clone, Debug, Default)]
struct Alternative {
    from_start: bool,
    to_end: bool,
    steps: Vec<Step>,
}

/// One element, any number of times if it is repeated.
#[derive(Clone, Debug)]
struct Step {
    one: One,
    is_repeated: bool,
}

#[derive(Clone, Debug)]
enum One {
    Any,
    Char(char),
    /// Ranges of characters, or all others.
    Set {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl One {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Char(own) => *own == c,
            Self::Set { is_negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *is_negated
            }
        }
    }
}

impl Matcher {
    /// Reads a pattern. The text of an error says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.chars().count() > LONGEST {
            return Err(format!("a pattern has at most {LONGEST} characters"));
        }
        let is_exact = pattern.chars().any(char::is_uppercase);
        let mut alternatives = vec![Alternative::default()];
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let last = alternatives.last_mut().expect("there is one from the start");
            let is_end = matches!(chars.peek(), None | Some('|'));
            let one = match c {
                '|' => {
                    alternatives.push(Alternative::default());
                    continue;
                }
                '^' if last.steps.is_empty() && !last.from_start => {
                    last.from_start = true;
                    continue;
                }
                '$' if is_end => {
                    last.to_end = true;
                    continue;
                }
                '.' => One::Any,
                '[' => set(&mut chars)?,
                '\\' => One::Char(chars.next().ok_or("the pattern ends in `\\'")?),
                c => One::Char(c),
            };
            let is_repeated = chars.next_if_eq(&'*').is_some();
            last.steps.push(Step { one, is_repeated });
        }
        Ok(Self { alternatives, is_exact })
    }

    /// Whether a line has the pattern in it.
    pub fn is_in(&self, line: &str) -> bool {
        if self.is_exact {
            return self.alternatives.iter().any(|a| a.is_in(line));
        }
        let line = line.to_lowercase();
        self.alternatives.iter().any(|a| a.is_in(&line))
    }
}

/// The set after `[`.
fn set(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<One, String> {
    let is_negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let missing = || "`[' without `]' in the pattern".to_owned();
        let first = match chars.next().ok_or_else(missing)? {
            ']' if !ranges.is_empty() => return Ok(One::Set { is_negated, ranges }),
            '\\' => chars.next().ok_or_else(missing)?,
            c => c,
        };
        let mut ahead = chars.clone();
        let is_range = ahead.next() == Some('-') && ahead.peek().is_some_and(|c| *c != ']');
        let last = if is_range { chars.nth(1).ok_or_else(missing)? } else { first };
        ranges.push((first, last));
    }
}

impl Alternative {
    /// Follows all ways through the steps at once: `at[i]` is whether steps before `i` are done.
    fn is_in(&self, line: &str) -> bool {
        let end = self.steps.len();
        let mut at = vec![false; end + 1];
        self.begin(&mut at);
        if at[end] && (!self.to_end || line.is_empty()) {
            return true;
        }
        let mut left = line.chars().count();
        for c in line.chars() {
            left -= 1;
            let mut next = vec![false; end + 1];
            for (number, step) in self.steps.iter().enumerate() {
                if at[number] && step.one.takes(c) {
                    self.reach(&mut next, if step.is_repeated { number } else { number + 1 });
                }
            }
            if !self.from_start {
                self.begin(&mut next);
            }
            at = next;
            if at[end] && (!self.to_end || left == 0) {
                return true;
            }
        }
        false
    }

    fn begin(&self, at: &mut [bool]) {
        self.reach(at, 0);
    }

    /// Notes a place, and those after repeated steps, which may be there no time at all.
    fn reach(&self, at: &mut [bool], number: usize) {
        at[number] = true;
        let skipped = self.steps[number..].iter().take_while(|step| step.is_repeated).count();
        at[number..=number + skipped].fill(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(pattern: &str, line: &str) -> bool {
        Matcher::new(pattern).unwrap().is_in(line)
    }

    #[test]
    fn patterns_are_found() {
        for (pattern, line) in [
            ("eth1", "host-eth1   2  up"),
            ("ETH", "ETH"),
            ("up$", "host-eth1 up"),
            ("^host", "host-eth1"),
            ("^host.*up$", "host-eth1 2 up"),
            ("down|up", "x up y"),
            ("[0-9][0-9]*ms", "took 12ms"),
            ("[^ ]up", "xup"),
            ("a\\.b", "a.b"),
            ("1\\|2", "1|2"),
            ("$x", "$x"),
            ("", "anything"),
            ("^$", ""),
            ("x*", ""),
            ("\u{e4}.", "\u{c4}x"),
            ("a[]x]b", "a]b"),
        ] {
            assert!(is_in(pattern, line), "{pattern} in {line}");
        }
    }

    #[test]
    fn other_lines_have_none() {
        for (pattern, line) in [
            ("eth1", "host-eth2"),
            ("ETH", "eth"),
            ("up$", "up 1"),
            ("^eth", "host-eth1"),
            ("a\\.b", "axb"),
            ("[^ ]up", " up"),
            ("^$", "x"),
            ("^a*b$", "aac"),
        ] {
            assert!(!is_in(pattern, line), "{pattern} in {line}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let pattern = "a*".repeat(120) + "b";
        assert!(!is_in(&pattern, &"a".repeat(20_000)));
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_said() {
        for (pattern, why) in [
            ("[a", "`[' without `]' in the pattern"),
            ("a\\", "the pattern ends in `\\'"),
            (&"x".repeat(257), "a pattern has at most 256 characters"),
        ] {
            assert_eq!(Matcher::new(pattern).unwrap_err(), why);
        }
    }
}
