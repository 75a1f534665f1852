// A program that leaks on known paths and writes its raw heap profile.
use std::hint::black_box;
#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[allow(non_upper_case_globals)]
#[unsafe(export_name = "malloc_conf")]
pub static malloc_conf: &[u8] = b"prof:true,prof_active:true,lg_prof_sample:12\0";

struct Cache { blocks: Vec<Vec<u8>> }
impl Cache {
    #[inline(always)]
    fn block(&mut self, bytes: usize) { self.blocks.push(black_box(vec![1u8; bytes])); }
    #[inline(never)]
    fn fill(&mut self, count: usize) { for i in 0..count { self.block(1000 + i % 3000); } }
}
#[inline(never)]
fn names(count: usize) -> Vec<String> { (0..count).map(|i| format!("a name that is long enough, number {i:032}")).collect() }
#[inline(never)]
fn tree(depth: u32) -> Option<Box<(u64, [u8; 200])>> { if depth == 0 { Some(black_box(Box::new((7, [3; 200])))) } else { tree(black_box(depth - 1)) } }

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut cache = Cache { blocks: Vec::new() };
    cache.fill(3000);
    let names = names(20_000);
    let trees: Vec<_> = (0..3000).map(|i| tree(i % 7)).collect();
    let mut ctl = jemalloc_pprof::PROF_CTL.as_ref().expect("profiling is compiled in").lock().await;
    let pprof = ctl.dump_pprof().expect("dump");
    std::fs::write(std::env::args().nth(1).expect("OUT"), pprof).expect("write");
    black_box((&cache.blocks, &names, &trees));
}
