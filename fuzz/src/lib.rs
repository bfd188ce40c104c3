//! Makes hostile input from a corpus and gives it to a target until time is up.
#![forbid(unsafe_code)]

mod mutate;
pub mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use mutate::Random;

/// Duration of each target by default.
const SECONDS: u64 = 20;
/// Longest input.
pub const MAX_LEN: usize = 2048;

/// Something that takes any input and says what is wrong with what it did to it.
pub trait Target {
    /// Name of its folder in the corpus.
    const NAME: &'static str;
    /// Input to begin with, besides the corpus.
    fn seeds(&self) -> Vec<Vec<u8>>;
    /// Takes one input; `Err` says what must not happen. A panic is caught by the caller.
    fn take(&mut self, input: &[u8]) -> Result<(), String>;
}

/// Replays the corpus of a target, then tries new input; returns how many inputs were taken.
///
/// # Panics
/// When an input breaks something. It is in the corpus then.
pub fn run<T: Target>(make: impl Fn() -> T) -> u64 {
    let mut target = make();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(T::NAME);
    let mut corpus = target.seeds();
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    corpus.extend(files.iter().filter_map(|path| fs::read(path).ok()));
    let mut random = Random::new(number("FERROVIA_FUZZ_SEED", 1));
    let time = Duration::from_secs(number("FERROVIA_FUZZ_SECONDS", SECONDS));
    #[allow(clippy::disallowed_methods, reason = "how long to try is real time")]
    let end = Instant::now() + time;
    let mut count = 0;
    let replay = corpus.clone();
    let mut waiting = replay.into_iter();
    loop {
        #[allow(clippy::disallowed_methods, reason = "how long to try is real time")]
        let is_over = Instant::now() >= end;
        let input = match waiting.next() {
            Some(input) => input,
            None if is_over => return count,
            None => random.input(&corpus),
        };
        let taken = catch_unwind(AssertUnwindSafe(|| target.take(&input)));
        let wrong = match taken {
            Ok(Ok(())) => None,
            Ok(Err(wrong)) => Some(wrong),
            Err(_) => Some("panic".to_owned()),
        };
        if let Some(wrong) = wrong {
            if std::env::var_os("FERROVIA_FUZZ_GO_ON").is_some() {
                println!("{}: {wrong}\ninput {input:?}\n", T::NAME);
                continue;
            }
            let path = folder.join(format!("found-{:016x}", random.number()));
            // Without it the input is still in the message.
            let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &input));
            let text = String::from_utf8_lossy(&input);
            panic!("{}: {wrong}\ninput, kept in {}: {text:?}", T::NAME, path.display());
        }
        count += 1;
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
