//! The map from buckets of a load balance to paths (RFC 2992: hash-threshold over equal buckets).

/// Most buckets of a load balance.
pub const MAX_BUCKETS: usize = 4096;

/// Shares a power of two of buckets out by weight: the returned entries are positions in `weights`.
///
/// Takes as few buckets as keep the sum of all deviations below a tenth, and no fewer than there
/// were `previous`ly. A path keeps the buckets it had, as far as it may have so many, so that flows
/// of paths that did not change stay where they are. Weight 0 is a path that cannot be used; none
/// at all gives no buckets.
pub fn fill_buckets(weights: &[u32], previous: &[u16]) -> Vec<u16> {
    let usable = weights.iter().filter(|w| **w > 0).count();
    if usable <= 1 {
        let only = weights.iter().position(|w| *w > 0);
        return only.map(|i| i as u16).into_iter().collect();
    }
    let least = usable.min(MAX_BUCKETS).next_power_of_two().max(previous.len());
    let mut count = least;
    let mut shares = shares(weights, count);
    while count < MAX_BUCKETS && deviates(weights, &shares, count) {
        count *= 2;
        shares = self::shares(weights, count);
    }
    // What was there before keeps its place; free places are filled path by path.
    let mut buckets: Vec<Option<u16>> = (0..count)
        .map(|bucket| {
            let owner = *previous.get(bucket % previous.len().max(1))?;
            let left = shares.get_mut(usize::from(owner)).filter(|left| **left > 0)?;
            *left -= 1;
            Some(owner)
        })
        .collect();
    let mut rest = (0u16..).zip(shares).flat_map(|(i, left)| std::iter::repeat_n(i, left));
    for bucket in buckets.iter_mut().filter(|b| b.is_none()) {
        *bucket = rest.next();
    }
    buckets.into_iter().flatten().collect()
}

/// Buckets of each path: at least one where there is a weight, largest remainders first.
fn shares(weights: &[u32], count: usize) -> Vec<usize> {
    let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let exact = |w: u32| u64::from(w) * count as u64;
    let mut shares: Vec<usize> =
        weights.iter().map(|w| ((exact(*w) / total) as usize).max(usize::from(*w > 0))).collect();
    loop {
        let given: usize = shares.iter().sum();
        let owed = |i: usize| exact(weights[i]) as i64 - shares[i] as i64 * total as i64;
        if given < count {
            let most = (0..weights.len()).rev().max_by_key(|i| owed(*i)).unwrap_or(0);
            shares[most] += 1;
        } else if given > count {
            let rich = (0..weights.len()).filter(|i| shares[*i] > 1).min_by_key(|i| owed(*i));
            let Some(rich) = rich else { return shares };
            shares[rich] -= 1;
        } else {
            return shares;
        }
    }
}

/// Whether the sum of all deviations from the weights is a tenth or more.
fn deviates(weights: &[u32], shares: &[usize], count: usize) -> bool {
    let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let off = weights
        .iter()
        .zip(shares)
        .map(|(w, share)| (u64::from(*w) * count as u64).abs_diff(*share as u64 * total));
    off.sum::<u64>() * 10 >= count as u64 * total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_weights() {
        assert_eq!(fill_buckets(&[3, 1], &[]), [0, 0, 0, 1]);
        assert_eq!(fill_buckets(&[1, 1], &[]), [0, 1]);
        assert_eq!(fill_buckets(&[0, 7], &[]), [1]);
        assert_eq!(fill_buckets(&[0, 0], &[]), [0u16; 0]);
        assert_eq!(fill_buckets(&[1, 1, 1], &[]).len(), 16);
    }

    #[test]
    fn a_lost_path_moves_only_its_own_flows() {
        let before = fill_buckets(&[1, 1, 1, 1], &[]);
        let after = fill_buckets(&[1, 0, 1, 1], &before);
        for (bucket, owner) in after.iter().enumerate() {
            let old = before[bucket % before.len()];
            assert!(old == 1 || old == *owner, "bucket {bucket} moved from {old} to {owner}");
        }
    }

    proptest! {
        #[test]
        fn every_usable_path_has_its_share(
            weights in prop::collection::vec(0..200u32, 1..40),
            dead in any::<prop::sample::Index>(),
        ) {
            let before = fill_buckets(&weights, &[]);
            let mut less = weights.clone();
            less[dead.index(weights.len())] = 0;
            let after = fill_buckets(&less, &before);
            for (weights, buckets) in [(&weights, &before), (&less, &after)] {
                let total: u32 = weights.iter().sum();
                prop_assert!(buckets.is_empty() == (total == 0));
                prop_assert!(total == 0 || buckets.len().is_power_of_two());
                for (i, w) in weights.iter().enumerate() {
                    let n = buckets.iter().filter(|b| usize::from(**b) == i).count();
                    prop_assert_eq!(n > 0, *w > 0);
                    let off = n as f64 / buckets.len().max(1) as f64
                        - f64::from(*w) / f64::from(total.max(1));
                    prop_assert!(off.abs() < 0.1 || buckets.len() == MAX_BUCKETS);
                }
            }
        }
    }
}
