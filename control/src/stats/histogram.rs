//! Histograms by powers of two.

use infra::counter::{Counter, Rows};

use super::layout::Kind;
use super::segment::no_room;
use super::value::Content;
use super::vector::Vector;
use super::{Columns, Error, Segment};

/// Counts values by their power of two: bin `b` those from `2^(first + b)` on, below twice that.
/// Smaller values are in the first bin, larger in the last.
#[derive(Clone, Debug)]
pub struct Histogram {
    rows: Rows<Counter>,
    first: u32,
}

impl Histogram {
    /// Counts a value, on thread `thread`.
    #[inline(always)]
    pub fn count(&self, thread: usize, value: u64) {
        let row = self.rows.row(thread);
        let bin = (value.max(1).ilog2().saturating_sub(self.first) as usize).min(row.len() - 2);
        // The first element is the exponent.
        row[1 + bin].add(1);
    }
}

impl Segment {
    /// A histogram of `bins` bins (at least one), the first for values below `2^(first + 1)`.
    ///
    /// # Errors
    /// A name that is in use, or no memory.
    pub fn histogram(&mut self, name: &str, first: u32, bins: usize) -> Result<Histogram, Error> {
        self.directory.check(name)?;
        let by = Columns::fixed(1 + bins.max(1));
        let vector = Vector::new::<Counter>(&self.region, self.threads(), by);
        let vector = vector.ok_or_else(no_room)?;
        let rows = vector.rows::<Counter>();
        for thread in 0..rows.threads() {
            rows.row(thread)[0].set(first.into());
        }
        let content = Content::Histogram(Box::new((vector, rows.clone())));
        self.insert_vector(name, Kind::Histogram, content)?;
        Ok(Histogram { rows, first })
    }
}
