//! No source file imports, by whatever way, a file that imports it in turn: what stands below can be read, tested and
//! moved without what stands on it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod source_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use source_tree::{Edges, Found, House, Segments, shown, tokens, use_tree};

/// The files that reach themselves, each circle by itself.
fn circles(edges: &Edges) -> Vec<BTreeSet<PathBuf>> {
    let reach = |from: &PathBuf| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(edges.get(at).into_iter().flat_map(BTreeMap::keys).filter(|next| seen.insert((*next).clone())));
        }
        seen
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> = edges.keys().map(|file| (file, reach(file))).collect();
    let mut found: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
    for (file, below) in &reached {
        if below.contains(*file) {
            let both = below.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*file)));
            found.insert(both.cloned().collect());
        }
    }
    found.into_iter().collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let house = House::read();
    let edges = house.edges();
    let count: usize = edges.values().map(BTreeMap::len).sum();
    assert!(house.modules.len() > 500 && count > 2_000, "{} modules, {count} imports", house.modules.len());
    let mut faults = String::new();
    for circle in circles(&edges) {
        faults.push_str("\na circle:\n");
        for file in &circle {
            for (to, names) in edges[file].iter().filter(|(to, _)| circle.contains(*to)) {
                faults.push_str(&format!("  {} -> {}: {names:?}\n", shown(file), shown(to)));
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn paths_are_followed_to_the_file_that_defines_them() {
    let house = House::read();
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Segments>();
    let file = |text: &str| match house.find(&path(text), 0) {
        Some(Found::Name(file, _)) => shown(&file),
        _ => "nothing".to_owned(),
    };
    assert_eq!(file("query::filter::Matcher"), "query/src/filter/matcher.rs");
    assert_eq!(file("access::Session"), "access/src/session.rs");
    assert_eq!(file("query::filter::Nobody"), "nothing");
    let text = "use a::{self, b::{C, D as E}, f::*};";
    let mut paths = Vec::new();
    let tokens = tokens(text);
    use_tree(&tokens[1..tokens.len() - 1], &[], &mut paths);
    let shown: Vec<String> = paths.iter().map(|(path, name)| format!("{} as {name}", path.join("::"))).collect();
    assert_eq!(shown, ["a as a", "a::b::C as C", "a::b::D as E", "a::f::* as *"]);
}

#[test]
fn circles_are_found() {
    let mut edges = Edges::new();
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")] {
        edges.entry(from.into()).or_default().entry(to.into()).or_default().insert("Name".to_owned());
    }
    let expected: BTreeSet<PathBuf> = ["b", "c"].map(PathBuf::from).into_iter().collect();
    assert_eq!(circles(&edges), [expected]);
}

#[test]
fn paths_in_attributes_are_seen() {
    let mut house = House::default();
    let text = "#[derive(Debug)]\nstruct Refusal;\n#[error(\"more than {}\", crate::limits::MOST)]\nstruct Other;\n\
                #[cfg(test)]\nmod tests { const N: usize = crate::tests::N; }";
    let root = ["some".to_owned()];
    house.read_module(&root, &tokens(text), Path::new("lib.rs"), Path::new("src"));
    let module = &house.modules[root.as_slice()];
    assert_eq!(module.paths, [["crate", "limits", "MOST"].map(str::to_owned)]);
    assert!(module.items.contains("Refusal") && module.items.contains("Other"));
}
