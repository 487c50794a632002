//! Times decoding, the engine and the oracle on traces, and compares every answer with the expected
//! one. `benches/engine` makes the traces and the tables.
#![forbid(unsafe_code)]

use broadleaf_bench::answers::{self, Answers};
use broadleaf_bench::designs::timing;
use broadleaf_bench::generated::{GUPS_PAGES, Generated};
use broadleaf_bench::rounds::{Contestant, race};
use broadleaf_bench::{Failed, ONE, eighteen, loads, reduced, replay, slow, walk};
use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

#[derive(Parser)]
#[command(about = "Measures the engine beside decoding and beside the oracle")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time these traces; print JSON, with an object for each trace on a line
    Measure {
        /// A generated trace (gups, scan or zipf), or a recording with its name in results, and
        /// optionally the same recording in another version of the format
        #[arg(value_name = "NAME|NAME=TRACE[,OTHER]", required = true)]
        traces: Vec<String>,
        /// Number of times that each thing is timed
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Traces on which eighteen passes of one policy are timed too
        #[arg(long, value_name = "NAME")]
        apart: Vec<String>,
        /// Traces on which one policy is timed in place of eighteen
        #[arg(long, value_name = "NAME")]
        one: Vec<String>,
    },
    /// Time TLB designs beside their oracle; print JSON, with an object for each design on a line
    Designs {
        /// A recording with its name in results
        #[arg(value_name = "NAME=TRACE", required = true)]
        traces: Vec<String>,
        /// Number of times that each thing is timed
        #[arg(long, default_value = "3")]
        rounds: NonZeroUsize,
        /// Visits to leave out at the beginning
        #[arg(long, value_name = "VISITS", default_value_t = 1_000_000)]
        skip: u64,
        /// Lookups of each design
        #[arg(long, value_name = "N", default_value = "50000")]
        lookups: NonZeroUsize,
    },
    /// Print the oracle's counts of the generated traces: the contents of crates/bench/counts.json
    Counts,
}

fn main() -> Result<(), Failed> {
    match Arguments::parse().command {
        Command::Measure {
            traces,
            rounds,
            apart,
            one,
        } => measure(&traces, rounds, &apart, &one),
        Command::Designs {
            traces,
            rounds,
            skip,
            lookups,
        } => designs(&traces, rounds.get(), (skip, lookups.get())),
        Command::Counts => counts(),
    }
}

/// Times every design and every replacement rule on these recordings.
fn designs(traces: &[String], rounds: usize, part: (u64, usize)) -> Result<(), Failed> {
    for given in traces {
        let (name, path) = given.split_once('=').ok_or("give NAME=TRACE")?;
        let named = (name, Path::new(path));
        timing::designs(named, part, rounds, |row| println!("{row}"))?;
        timing::rules(named, rounds, |row| println!("{row}"))?;
    }
    Ok(())
}

/// Writes a generated trace to a file, so that it is read like a recording.
fn write(trace: Generated, folder: &Path) -> Result<PathBuf, Failed> {
    let path = folder.join(trace.name()).with_extension("bl");
    trace.write(BufWriter::new(File::create(&path)?))?.flush()?;
    Ok(path)
}

fn counts() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut all = BTreeMap::new();
    for trace in Generated::ALL {
        let path = write(trace, folder.path())?;
        let answers = slow::replay_all(|| File::open(&path), &eighteen()?)?;
        all.insert(trace.name().to_owned(), answers);
    }
    print!("{}", answers::stored_text(&all)?);
    Ok(())
}

fn measure(
    traces: &[String],
    rounds: usize,
    apart: &[String],
    one: &[String],
) -> Result<(), Failed> {
    let stored = answers::stored()?;
    let folder = tempfile::tempdir()?;
    for given in traces {
        let mut other = None;
        let (name, path, right) = match given.split_once('=') {
            Some((name, paths)) => {
                let (path, more) = paths.split_once(',').unwrap_or((paths, ""));
                other = (!more.is_empty()).then(|| PathBuf::from(more));
                let path = PathBuf::from(path);
                let policies = if one.iter().any(|of| of == name) {
                    vec![ONE.to_owned()]
                } else {
                    eighteen()?
                };
                let right = slow::replay_all(|| File::open(&path), &policies)?;
                (name, path, right)
            }
            None => {
                let mut all = Generated::ALL.into_iter();
                let trace = all
                    .find(|trace| trace.name() == given)
                    .ok_or_else(|| format!("{given}: no trace of that name is generated"))?;
                let right = stored.get(given).cloned().unwrap_or_default();
                (trace.name(), write(trace, folder.path())?, right)
            }
        };
        let mut trace = MeasuredTrace::new(name, &path, right, apart, one)?;
        trace.recorded = given.contains('=');
        trace.other = other;
        trace.reduced = folder.path().join(name).with_extension("reduced");
        let to = BufWriter::new(File::create(&trace.reduced)?);
        reduced::write(|| trace.open(), to)?.flush()?;
        println!("{}", trace.measure(rounds)?);
    }
    Ok(())
}

/// A trace to be measured.
struct MeasuredTrace<'a> {
    name: &'a str,
    path: &'a Path,
    /// The path of its reduced form.
    reduced: PathBuf,
    right: Answers,
    seen: walk::Walked,
    /// The path of the same trace in another version of the format.
    other: Option<PathBuf>,
    /// True for the recording of a program. TLBs of all geometries are then timed too.
    recorded: bool,
    /// True if eighteen policies are timed in one pass. `apart` is true if they are timed one by
    /// one too.
    eighteen: bool,
    apart: bool,
}

impl<'a> MeasuredTrace<'a> {
    fn new(
        name: &'a str,
        path: &'a Path,
        right: Answers,
        apart: &[String],
        one: &[String],
    ) -> Result<Self, Failed> {
        let named = |names: &[String]| names.iter().any(|of| of == name);
        Ok(Self {
            name,
            path,
            reduced: PathBuf::new(),
            right,
            seen: walk::walk(File::open(path)?)?,
            other: None,
            recorded: false,
            eighteen: !named(one),
            apart: named(apart),
        })
    }

    fn open(&self) -> io::Result<File> {
        File::open(self.path)
    }

    fn agree(&self, policies: &[String], found: &Answers) -> Result<(), Failed> {
        answers::agree(self.name, policies, found, &self.right)
    }

    /// Returns the engine with these policies in one pass.
    fn engine<'s>(
        &'s self,
        name: &'static str,
        policies: Vec<String>,
    ) -> Result<Contestant<'s>, Failed> {
        let plan = replay::plan(&policies)?;
        Ok(Contestant {
            name,
            run: Box::new(move || {
                let found = replay::replay(|| self.open(), &plan)?;
                self.agree(&policies, &found)
            }),
        })
    }

    /// Returns the engine with each of these policies in a pass of its own.
    fn engine_apart<'s>(
        &'s self,
        name: &'static str,
        policies: Vec<String>,
    ) -> Result<Contestant<'s>, Failed> {
        let mut each = Vec::new();
        for policy in policies {
            each.push(self.engine(name, vec![policy])?);
        }
        Ok(Contestant {
            name,
            run: Box::new(move || each.iter_mut().try_for_each(|one| (one.run)())),
        })
    }

    fn decoding(&self) -> Contestant<'_> {
        Contestant {
            name: "decoding",
            run: Box::new(|| same(self.seen, walk::decode(self.open()?)?)),
        }
    }

    fn walking(&self) -> Contestant<'_> {
        Contestant {
            name: "walking",
            run: Box::new(|| same(self.seen, walk::walk(self.open()?)?)),
        }
    }

    /// Returns the other version of the trace, decoded, and under one policy.
    fn in_other<'s>(&'s self, other: &'s Path) -> Result<[Contestant<'s>; 2], Failed> {
        let policies = vec![ONE.to_owned()];
        let plan = replay::plan(&policies)?;
        Ok([
            Contestant {
                name: "decoding_other",
                run: Box::new(move || same(self.seen, walk::decode(File::open(other)?)?)),
            },
            Contestant {
                name: "one_other",
                run: Box::new(move || {
                    let found = replay::replay(|| File::open(other), &plan)?;
                    self.agree(&policies, &found)
                }),
            },
        ])
    }

    /// Returns the engine with one policy and TLBs of every geometry.
    fn curves(&self) -> Result<Contestant<'_>, Failed> {
        let policies = vec![ONE.to_owned()];
        let plan = replay::plan(&policies)?.with_curves();
        Ok(Contestant {
            name: "one_curve",
            run: Box::new(move || {
                let found = replay::replay(|| self.open(), &plan)?;
                self.agree(&policies, &found)
            }),
        })
    }

    /// Returns the reader of the reduced form alone.
    fn reading_reduced(&self, seen: walk::Walked) -> Contestant<'_> {
        Contestant {
            name: "reading_reduced",
            run: Box::new(move || same(seen, reduced::walk(File::open(&self.reduced)?)?)),
        }
    }

    /// Returns the engine with one policy, from the reduced form.
    fn engine_reduced(&self) -> Result<Contestant<'_>, Failed> {
        let policies = vec![ONE.to_owned()];
        let plan = replay::plan(&policies)?;
        Ok(Contestant {
            name: "one_reduced",
            run: Box::new(move || {
                let found = reduced::replay(|| File::open(&self.reduced), &plan)?;
                self.agree(&policies, &found)
            }),
        })
    }

    /// Returns the size of the other version of the trace, in bytes.
    fn other_bytes(&self) -> io::Result<Option<u64>> {
        let other = self.other.as_ref().map(std::fs::metadata).transpose()?;
        Ok(other.map(|other| other.len()))
    }

    fn oracle(&self) -> Result<Contestant<'_>, Failed> {
        let (policy, known) = (slow::policy(ONE)?, slow::survey(self.open()?)?);
        Ok(Contestant {
            name: "oracle",
            run: Box::new(move || {
                let found = slow::replay(self.open()?, &known, policy)?;
                self.agree(&[ONE.to_owned()], &found)
            }),
        })
    }

    /// Returns the loads of random updates, page by page during decoding, and from a list of pages
    /// in memory.
    fn loads(&self) -> Result<[Contestant<'_>; 2], Failed> {
        let mut pages = Vec::new();
        walk::each_batch(self.open()?, |visits| {
            pages.extend(visits.iter().map(|visit| visit.unit as u32));
        })?;
        let visits = self.seen.visits;
        let state = loads::LoadState::new(GUPS_PAGES);
        let other = loads::LoadState::new(GUPS_PAGES);
        Ok([
            Contestant {
                name: "loads",
                run: Box::new(move || {
                    let mut loaded = 0;
                    walk::each_batch(self.open()?, |visits| loaded += state.visits(visits))?;
                    same(visits, loaded)
                }),
            },
            Contestant {
                name: "loads_of_a_list",
                run: Box::new(move || same(visits, other.pages(&pages))),
            },
        ])
    }

    /// Times everything on this trace, in turn.
    fn measure(&self, rounds: usize) -> Result<Value, Failed> {
        let left = reduced::walk(File::open(&self.reduced)?)?;
        same(self.seen.accesses, left.accesses)?;
        let mut contestants = vec![
            self.decoding(),
            self.walking(),
            self.engine("one", vec![ONE.to_owned()])?,
            self.reading_reduced(left),
            self.engine_reduced()?,
            self.oracle()?,
        ];
        if self.recorded {
            contestants.push(self.curves()?);
        }
        if let Some(other) = &self.other {
            contestants.extend(self.in_other(other)?);
        }
        if self.eighteen {
            contestants.push(self.engine("eighteen", eighteen()?)?);
        }
        if self.apart {
            contestants.push(self.engine_apart("apart", eighteen()?)?);
        }
        if self.name == Generated::Gups.name() {
            contestants.extend(self.loads()?);
        }
        let seconds = race(rounds, &mut contestants)?;
        let names = contestants.iter().map(|contestant| contestant.name);
        let times: BTreeMap<_, _> = names.zip(seconds).collect();
        Ok(json!({
            "trace": self.name,
            "accesses": self.seen.accesses,
            "visits": self.seen.visits,
            "bytes": std::fs::metadata(self.path)?.len(),
            "other_bytes": self.other_bytes()?,
            "reduced_visits": left.visits,
            "reduced_bytes": std::fs::metadata(&self.reduced)?.len(),
            "policies": eighteen()?,
            "seconds": times,
        }))
    }
}

/// Compares an answer of one or a few numbers with the expected one.
fn same<T: PartialEq + std::fmt::Debug>(right: T, found: T) -> Result<(), Failed> {
    if right == found {
        return Ok(());
    }
    Err(format!("the answer is {found:?}, should be {right:?}").into())
}
