//! Decisions that are compared with each other have to see the same entries: they are made again when entries changed
//! meanwhile.

use query::backend::Backend;
use store::StoreError;

/// How often they are made.
const TIMES_MAX: usize = 3;

/// What `decide` gives, and whether nothing changed while it ran. It is called again until that is so, a few times.
/// What is `settled` anyway is not made again.
///
/// # Errors
/// Those of `decide`, and when a backend is closed.
pub(crate) fn at_one_moment<T>(
    backends: &[Backend],
    is_settled: impl Fn(&T) -> bool,
    mut decide: impl FnMut() -> Result<T, StoreError>,
) -> Result<(T, bool), StoreError> {
    let mut times = 1;
    loop {
        let before = moments(backends)?;
        let decided = decide()?;
        let is_still = is_settled(&decided) || before == moments(backends)?;
        if is_still || times >= TIMES_MAX {
            return Ok((decided, is_still));
        }
        times += 1;
    }
}

fn moments(backends: &[Backend]) -> Result<Vec<u64>, StoreError> {
    backends.iter().map(|backend| Ok(backend.store.snapshot()?.seq())).collect()
}
