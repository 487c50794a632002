/* Allocation sites: the call stacks of allocations and mappings.

   A block that starts at the entry of an allocator calls `enters`. It notes the size and the
   return address. A block that starts at that return address calls `returns`, which finds the
   allocation's address in RAX. So the program runs its own allocator, and nothing is loaded into
   the program. Blocks must not contain calls, so `broadleaf record` sets --vex-guest-chase=no. */
#include "sites.h"
#include "../java/agent.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"

extern void VG_(discard_translations)(Addr start, ULong range, const HChar* who);

Bool bl_sites = False;

/* A call of an allocator that has not returned. A call inside it, such as the malloc of operator
   new, is a part of it. */
typedef struct {
   const Allocator* allocator; /* NULL: no call */
   Addr             sp;        /* at the entry: the place of the return address, or its like */
   Addr             to;        /* the return address */
   SizeT            size;
   Addr             result_at; /* the place of the result, or 0: RAX */
   UInt             site;
} Call;

/* Deeper in the stack than this is another stack. */
#define DEEPEST_CALL (8UL << 20)

static Call* calls; /* by thread */

/* The calls of goroutines. A goroutine may continue on another thread, and on another stack. */
typedef struct _GoroutineCall { struct _GoroutineCall* next; UWord key; Call call; } GoroutineCall;
static VgHashTable* goroutine_calls;

typedef struct _ReturnPlace { struct _ReturnPlace* next; UWord key; } ReturnPlace;
static VgHashTable* return_places;

typedef struct _KnownSite {
   struct _KnownSite* next;
   UWord              key; /* the hash of the rest */
   UInt               number, frames, managed_frames;
   const HChar*       allocator;
   Addr               ips[MAX_FRAMES];
   ManagedFrame       managed[MAX_FRAMES];
   ULong*             record; /* as it was sent */
   UInt               words;
} KnownSite;

static VgHashTable* sites;
static UInt         sites_used;
/* With more sites, stacks are cut to two frames. */
#define MANY_SITES (1u << 16)
#define FEW_FRAMES 2

/* Allocations of one site in one place. Small allocations of a block of 2 MiB are one run, larger
   ones a run for each start and size. A run is sent after 1, 2, 4, 8 ... allocations and at the
   end, so a loop that makes equal allocations does not fill the trace. A run of large ones is also
   sent before another run begins at its start: the last one of the trace owns the memory. */
typedef struct _Run {
   struct _Run* next;
   UWord        key;
   UInt         site;
   Addr         place;     /* the block, or the start of a large allocation */
   SizeT        size;      /* of a large allocation; 0 for small ones */
   Addr         low, high; /* of those that are not sent */
   ULong        count, bytes, all, send_at;
} Run;

#define SMALL (64UL << 10)
#define RUN_BLOCK (2UL << 20)
static VgHashTable* runs;

/* The run that has the latest large allocation at a start. */
typedef struct _LatestRun { struct _LatestRun* next; UWord key; Run* run; } LatestRun;
static VgHashTable* latest_runs;

static UWord mix(UWord h, UWord v)
{
   h = (h ^ v) * 0xff51afd7ed558ccdULL;
   return h ^ h >> 32;
}

/* The sites. */

static Word different_sites(const void* a, const void* b)
{
   const KnownSite *s = a, *t = b;
   return s->frames != t->frames || s->managed_frames != t->managed_frames
          || s->allocator != t->allocator
          || VG_(memcmp)(s->ips, t->ips, s->frames * sizeof(Addr)) != 0
          || VG_(memcmp)(s->managed, t->managed, s->managed_frames * sizeof(ManagedFrame)) != 0;
}

/* Returns the number of the site with these frames. A new site is sent. `java` has the texts of
   managed frames, or is NULL for those of Python. */
static UInt number_of(KnownSite* s, const JavaAllocation* java)
{
   s->key = mix((Addr)s->allocator, s->frames);
   for (UInt i = 0; i < s->frames; i++)
      s->key = mix(s->key, s->ips[i]);
   for (UInt i = 0; i < s->managed_frames; i++)
      s->key = mix(mix(s->key, s->managed[i].code), s->managed[i].instruction);
   KnownSite* known = VG_(HT_gen_lookup)(sites, s, different_sites);
   if (known)
      return known->number;
   Payload* p = VG_(malloc)("bl.site.payload", sizeof(Payload));
   s->number = sites_used++;
   p->words = 0;
   put(p, s->number);
   put_text(p, s->allocator);
   put(p, s->frames);
   for (UInt i = 0; i < s->frames; i++)
      put(p, s->ips[i]);
   put(p, s->managed_frames);
   for (UInt i = 0; i < s->managed_frames; i++) {
      if (!java) {
         bl_python_describe(p, &s->managed[i]);
         continue;
      }
      put_text(p, java->frame[i].function);
      put_text(p, java->frame[i].file);
      put(p, java->frame[i].line);
   }
   bl_send(REC_SITE, p);
   s->words = p->words;
   s->record = VG_(malloc)("bl.site.record", p->words * sizeof(ULong));
   VG_(memcpy)(s->record, p->word, p->words * sizeof(ULong));
   VG_(free)(p);
   known = VG_(malloc)("bl.site", sizeof *known);
   *known = *s;
   VG_(HT_add_node)(sites, known);
   return known->number;
}

/* Returns the number of the site at which the thread is now, in a function or system call of this
   name. The first frame, which is the function's own, is left out. */
static UInt site(ThreadId tid, const HChar* allocator, Bool of_go)
{
   KnownSite s;
   Addr      ips[MAX_FRAMES + 1];
   UInt      n = bl_stack(tid, ips, MAX_FRAMES + 1, of_go);
   UInt      most = sites_used < MANY_SITES ? MAX_FRAMES : FEW_FRAMES;
   s.allocator = allocator;
   s.frames = n > 0 ? n - 1 : 0;
   if (s.frames > most)
      s.frames = most;
   VG_(memcpy)(s.ips, ips + 1, s.frames * sizeof(Addr));
   s.managed_frames = bl_python_stack(s.managed, most);
   return number_of(&s, NULL);
}

/* The allocations. */

static void send_run(Run* r)
{
   Payload p;
   if (r->count == 0)
      return;
   p.words = 0;
   put(&p, r->site);
   put(&p, r->low);
   put(&p, r->high - r->low);
   put(&p, r->count);
   put(&p, r->bytes);
   bl_send(REC_ALLOCATION, &p);
   r->count = r->bytes = 0;
}

static Word different_runs(const void* a, const void* b)
{
   const Run *r = a, *s = b;
   return r->site != s->site || r->place != s->place || r->size != s->size;
}

/* Makes a run the latest at its start. What the run before it has not sent goes first. */
static void be_latest(Run* r)
{
   LatestRun* latest = VG_(HT_lookup)(latest_runs, r->place);
   if (!latest) {
      latest = VG_(malloc)("bl.latest", sizeof *latest);
      latest->key = r->place;
      latest->run = r;
      VG_(HT_add_node)(latest_runs, latest);
   }
   if (latest->run == r)
      return;
   send_run(latest->run);
   latest->run = r;
   r->send_at = r->all + 1; /* at once: the run before was sent later than this one */
}

static void allocated(UInt site, Addr start, SizeT size)
{
   Run  want = {.site = site};
   Bool small = size < SMALL && start / RUN_BLOCK == (start + size - 1) / RUN_BLOCK;
   if (start == 0 || size == 0 || start + size < start || !bl_recording)
      return;
   want.place = small ? start / RUN_BLOCK : start;
   want.size = small ? 0 : size;
   want.key = mix(mix(site, want.place), want.size);
   Run* r = VG_(HT_gen_lookup)(runs, &want, different_runs);
   if (!r) {
      r = VG_(malloc)("bl.run", sizeof *r);
      *r = want;
      r->count = r->bytes = r->all = 0;
      r->send_at = 1;
      VG_(HT_add_node)(runs, r);
   }
   if (!small)
      be_latest(r);
   if (r->count == 0) {
      r->low = start;
      r->high = start + size;
   }
   if (start < r->low)
      r->low = start;
   if (start + size > r->high)
      r->high = start + size;
   r->count++;
   r->bytes += size;
   if (++r->all >= r->send_at) {
      r->send_at = r->all * 2;
      send_run(r);
   }
}

void bl_sites_flush(void)
{
   if (!bl_sites)
      return;
   VG_(HT_ResetIter)(runs);
   for (Run* r = VG_(HT_Next)(runs); r; r = VG_(HT_Next)(runs))
      send_run(r);
}

void bl_sites_in_child(void)
{
   if (!bl_sites)
      return;
   VG_(HT_ResetIter)(sites);
   for (KnownSite* s = VG_(HT_Next)(sites); s; s = VG_(HT_Next)(sites))
      bl_record(REC_SITE, s->record, s->words); /* the child's reader has none */
   VG_(HT_ResetIter)(runs);
   for (Run* r = VG_(HT_Next)(runs); r; r = VG_(HT_Next)(runs))
      r->count = r->bytes = 0; /* the parent sent them before the fork */
}

/* The calls of allocators. */

/* Returns true if a call at this stack pointer is inside `call`. An exception or a longjmp may have
   left `call`; then other calls soon overwrite its return address. */
static Bool is_inside(const Call* call, Addr sp)
{
   if (!call->allocator || sp >= call->sp || call->sp - sp >= DEEPEST_CALL)
      return False;
   return call->allocator->of_go
          || (bl_readable(call->sp, sizeof(Addr)) && *(Addr*)call->sp == call->to);
}

static SizeT size_of_call(ThreadId tid, const Allocator* a)
{
   switch (a->size) {
      case SIZE_1: return REG(tid, RDI);
      case SIZE_2: return REG(tid, RSI);
      case SIZE_3: return REG(tid, RDX);
      case SIZE_1X2: return REG(tid, RDI) * REG(tid, RSI);
      case SIZE_2X3: return REG(tid, RSI) * REG(tid, RDX);
      default: return REG(tid, RAX);
   }
}

static void will_return_to(Addr place)
{
   if (VG_(HT_lookup)(return_places, place))
      return;
   ReturnPlace* r = VG_(malloc)("bl.return", sizeof *r);
   r->key = place;
   VG_(HT_add_node)(return_places, r);
   VG_(discard_translations)(place, 1, "recorder.sites"); /* it lacks the call of `returns` */
}

/* The offset of the end of a goroutine's stack (`g.stack.hi`). */
#define GOROUTINE_STACK_END 8

/* Returns a stack pointer that a copy of the goroutine's stack to another place does not change. */
static Addr sp_of_goroutine(ThreadId tid)
{
   Addr end = REG(tid, R14) + GOROUTINE_STACK_END;
   return bl_readable(end, sizeof(Addr)) ? (1UL << 62) - (*(Addr*)end - VG_(get_SP)(tid)) : 0;
}

/* Returns the latest call of the goroutine that runs, or NULL. R14 holds the goroutine (Go's
   internal calling convention). */
static Call* call_of_goroutine(ThreadId tid, Bool make)
{
   Addr           g = REG(tid, R14);
   GoroutineCall* c = VG_(HT_lookup)(goroutine_calls, g);
   if (!c && make) {
      c = VG_(calloc)("bl.goroutine", 1, sizeof *c);
      c->key = g;
      VG_(HT_add_node)(goroutine_calls, c);
   }
   return c ? &c->call : NULL;
}

/* Called at the entry of an allocator. */
static void enters(const Allocator* a)
{
   ThreadId tid = VG_(get_running_tid)();
   Addr     sp = VG_(get_SP)(tid);
   Addr     place = a->of_go ? sp_of_goroutine(tid) : sp;
   Call*    call = a->of_go ? call_of_goroutine(tid, True) : &calls[tid];
   if (!bl_recording || is_inside(call, place) || !bl_readable(sp, sizeof(Addr)))
      return;
   call->allocator = a;
   call->sp = place;
   call->to = *(Addr*)sp;
   call->size = size_of_call(tid, a);
   call->result_at = a->at_pointer ? REG(tid, RDI) : 0;
   call->site = site(tid, a->shown, a->of_go);
   will_return_to(call->to);
}

/* Called where calls of allocators return to. */
static void returns(Addr place)
{
   ThreadId tid = VG_(get_running_tid)();
   Call*    call = &calls[tid];
   if (!call->allocator || call->to != place || call->sp + sizeof(Addr) != VG_(get_SP)(tid)) {
      call = call_of_goroutine(tid, False);
      if (!call || !call->allocator || call->to != place
          || call->sp + sizeof(Addr) != sp_of_goroutine(tid))
         return;
   }
   Addr start = REG(tid, RAX);
   if (call->result_at && bl_readable(call->result_at, sizeof(Addr)))
      start = (Int)start == 0 ? *(Addr*)call->result_at : 0;
   call->allocator = NULL;
   allocated(call->site, start, call->size);
}

/* The sizes in which CPython maps memory for small objects: since 3.10, and before. */
static Bool is_python_arena(SizeT len) { return len == 1UL << 20 || len == 256UL << 10; }

void bl_sites_mapped(ThreadId tid, const HChar* name, Addr start, SizeT len)
{
   static const HChar arena[] = "Python arena";
   ManagedFrame       frame;
   if (!bl_sites || !bl_recording || is_inside(&calls[tid], VG_(get_SP)(tid)))
      return;
   if (is_python_arena(len) && bl_python_stack(&frame, 1))
      name = arena;
   allocated(site(tid, name, False), start, VG_PGROUNDUP(len));
}

/* Takes a report of the Java agent. */
static Bool request(ThreadId tid, UWord* args, UWord* result)
{
   static const HChar    of_java[] = "new (Java)";
   const JavaAllocation* java = (const JavaAllocation*)args[1];
   KnownSite             s;
   if (args[0] != JAVA_ALLOCATION_REQUEST)
      return False;
   *result = 0;
   if (!bl_recording || !bl_readable((Addr)java, sizeof *java) || java->frames > JAVA_FRAMES)
      return True;
   s.allocator = of_java;
   s.frames = 0;
   s.managed_frames = java->frames;
   for (UInt i = 0; i < java->frames; i++)
      s.managed[i] = (ManagedFrame){java->frame[i].method, java->frame[i].location};
   allocated(number_of(&s, java), java->start, java->size);
   return True;
}

static void add_call(IRSB* out, Int shadow, const HChar* name, void* function, HWord argument)
{
   IRExpr**  arguments = mkIRExprVec_1(IRExpr_Const(IRConst_U64(argument)));
   IRDirty*  call = unsafeIRDirty_0_N(1, name, VG_(fnptr_to_fnentry)(function), arguments);
   call->nFxState = 1;
   VG_(memset)(&call->fxState, 0, sizeof call->fxState);
   call->fxState[0].fx = Ifx_Modify;
   call->fxState[0].offset = shadow;
   call->fxState[0].size = sizeof(Shadow);
   addStmtToIRSB(out, IRStmt_Dirty(call));
}

void bl_sites_instrument(IRSB* out, Addr start, Int shadow)
{
   const HChar* name;
   if (!bl_sites)
      return;
   /* A block may be both: the code after a call that never returns. */
   if (VG_(HT_lookup)(return_places, start))
      add_call(out, shadow, "returns", returns, start);
   if (VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), start, &name)) {
      const Allocator* a = bl_allocator(name);
      if (a)
         add_call(out, shadow, "enters", enters, (HWord)a);
   }
}

void bl_sites_init(void)
{
   if (!bl_sites)
      return;
   VG_(needs_client_requests)(request);
   calls = VG_(calloc)("bl.calls", VG_N_THREADS, sizeof *calls);
   return_places = VG_(HT_construct)("bl.returns");
   goroutine_calls = VG_(HT_construct)("bl.goroutines");
   sites = VG_(HT_construct)("bl.sites");
   runs = VG_(HT_construct)("bl.runs");
   latest_runs = VG_(HT_construct)("bl.latest.runs");
}
