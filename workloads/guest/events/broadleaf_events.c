// SPDX-License-Identifier: MIT OR GPL-2.0
/* A module of Linux that emits Zhu's kernel events to the recorder of whole systems.

   It announces a page, and stores each event to it: recorder/qemu/system/events.c has the layout.
   Kernel probes emit the events that Linux has. With reservations=1, probes also emit RV_CREATE at
   the first fault of a block, and RV_FREE when a block is unmapped. Writers to
   /proc/broadleaf-events emit any event about their own address space, one on each line: a name of
   Zhu 2018, table 3.1, and up to three numbers (first address; length; rights or the type of
   INVPCID). */
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Kernel events for broadleaf record --engine qemu-system");

static bool probes = true;
module_param(probes, bool, 0444);
MODULE_PARM_DESC(probes, "emit the events that Linux has");

static bool reservations;
module_param(reservations, bool, 0644);
MODULE_PARM_DESC(reservations, "emit RV_CREATE and RV_FREE as a kernel that reserves blocks would");

enum event { RV_CREATE, RV_BREAK, RV_FREE, VM_PROMOTE, VM_DEMOTE, VM_MAPPING, VM_UNMAP, VM_PROTECT,
	     VM_PAGEOUT, INVLPG, INVLTLB, INVLTLB_G, INVPCID };
static const char *const names[] = { "RV_CREATE", "RV_BREAK", "RV_FREE", "VM_PROMOTE", "VM_DEMOTE",
				     "VM_MAPPING", "VM_UNMAP", "VM_PROTECT", "VM_PAGEOUT", "INVLPG",
				     "INVLTLB", "INVLTLB_G", "INVPCID" };

#define SLOT_WORDS 8 /* a slot for each processor */
#define MOST_CPUS (PAGE_SIZE / sizeof(u64) / SLOT_WORDS)

static volatile u64 *events;

static void emit(struct mm_struct *mm, enum event event, u64 start, u64 length, u64 more)
{
	unsigned long flags;
	volatile u64 *slot;

	local_irq_save(flags);
	slot = events + SLOT_WORDS * smp_processor_id();
	slot[0] = (u64)mm; /* without one, the space that runs */
	slot[1] = start;
	slot[2] = length;
	slot[3] = more;
	slot[4] = event;
	local_irq_restore(flags);
}

/* The mark, and a store to the page right after it. */
static void announce(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n.long 0xb0ad1ea3\n\tmovq $0, (%0)"
		     : : "r"(events) : "memory");
}

static int on_unmap(struct kprobe *at, struct pt_regs *regs)
{
	u64 block;

	emit((void *)regs->dx, VM_UNMAP, regs->cx, regs->r8 - regs->cx, 0);
	if (!reservations)
		return 0;
	for (block = ALIGN(regs->cx, HPAGE_PMD_SIZE); block + HPAGE_PMD_SIZE <= regs->r8;
	     block += HPAGE_PMD_SIZE)
		emit((void *)regs->dx, RV_FREE, block, 0, 0);
	return 0;
}

/* A block with a table of base pages, or with a huge page. */
static bool has_pages(struct mm_struct *mm, u64 block)
{
	pgd_t *pgd = pgd_offset(mm, block);
	p4d_t *p4d;
	pud_t *pud;

	if (pgd_none(*pgd))
		return false;
	p4d = p4d_offset(pgd, block);
	if (p4d_none(*p4d))
		return false;
	pud = pud_offset(p4d, block);
	return !pud_none(*pud) && !pmd_none(*pmd_offset(pud, block));
}

/* Rule 7 of docs/spec/model.md: the object uses all of the block, or may grow into it. */
static bool may_reserve(struct vm_area_struct *vma, u64 block)
{
	u64 start = vma->vm_start, end = vma->vm_end, after = block + HPAGE_PMD_SIZE;
	struct mm_struct *mm = vma->vm_mm;

	if (start <= block && after <= end) {
		u64 at = (vma->vm_pgoff << PAGE_SHIFT) + block - start;

		return !vma->vm_file ||
		       (IS_ALIGNED(at, HPAGE_PMD_SIZE) &&
			at + HPAGE_PMD_SIZE <= PAGE_ALIGN(i_size_read(file_inode(vma->vm_file))));
	}
	if (!vma->vm_file && start <= mm->brk && end >= mm->start_brk)
		return start <= block && after - end <= end - start;
	return (vma->vm_flags & VM_GROWSDOWN) && after <= end && start - block <= end - start;
}

static int on_fault(struct kprobe *at, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->di;
	u64 block = regs->si & HPAGE_PMD_MASK;

	if (reservations && !has_pages(vma->vm_mm, block) && may_reserve(vma, block))
		emit(vma->vm_mm, RV_CREATE, block, 0, 0);
	return 0;
}

static int on_zap(struct kprobe *at, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->di;

	emit(vma->vm_mm, VM_UNMAP, regs->si, regs->dx, 0);
	return 0;
}

static int on_protect(struct kprobe *at, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->si;
	u64 flags = regs->r9;
	u64 rights = (flags & VM_READ ? 1 : 0) | (flags & VM_WRITE ? 2 : 0) |
		     (flags & VM_EXEC ? 4 : 0);

	emit(vma->vm_mm, VM_PROTECT, regs->cx, regs->r8 - regs->cx, rights);
	return 0;
}

static int on_split(struct kprobe *at, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->di;
	pmd_t *pmd = (void *)regs->si;

	if (pmd_trans_huge(*pmd))
		emit(vma->vm_mm, VM_DEMOTE, regs->dx & HPAGE_PMD_MASK, 0, 0);
	return 0;
}

static int on_flush_page(struct kprobe *at, struct pt_regs *regs)
{
	emit(NULL, INVLPG, regs->di, 0, 0);
	return 0;
}

static int on_flush_space(struct kprobe *at, struct pt_regs *regs)
{
	emit(NULL, INVLTLB, 0, 0, 0);
	return 0;
}

static int on_flush_all(struct kprobe *at, struct pt_regs *regs)
{
	emit(NULL, INVLTLB_G, 0, 0, 0);
	return 0;
}

static struct kprobe entries[] = {
	{ .symbol_name = "handle_mm_fault", .pre_handler = on_fault },
	{ .symbol_name = "do_mas_align_munmap", .pre_handler = on_unmap },
	{ .symbol_name = "zap_page_range", .pre_handler = on_zap },
	{ .symbol_name = "zap_page_range_single", .pre_handler = on_zap },
	{ .symbol_name = "mprotect_fixup", .pre_handler = on_protect },
	{ .symbol_name = "__split_huge_pmd", .pre_handler = on_split },
	{ .symbol_name = "native_flush_tlb_one_user", .pre_handler = on_flush_page },
	{ .symbol_name = "native_flush_tlb_local", .pre_handler = on_flush_space },
	{ .symbol_name = "native_flush_tlb_global", .pre_handler = on_flush_all },
};

/* What a function was called with, until it returns. */
struct call {
	struct mm_struct *mm;
	u64 address;
	pmd_t *pmd;
};

static int enters_fault(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct vm_fault *fault = (void *)regs->di;
	struct call *call = (void *)of->data;

	*call = (struct call){ fault->vma->vm_mm, fault->address & HPAGE_PMD_MASK, fault->pmd };
	return 0;
}

static int leaves_fault(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct call *call = (void *)of->data;

	if (pmd_trans_huge(*call->pmd))
		emit(call->mm, VM_PROMOTE, call->address, 0, 0);
	return 0;
}

static int enters_collapse(struct kretprobe_instance *of, struct pt_regs *regs)
{
	*(struct call *)of->data = (struct call){ (void *)regs->di, regs->si & HPAGE_PMD_MASK };
	return 0;
}

static int leaves_collapse(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct call *call = (void *)of->data;

	if ((int)regs_return_value(regs) == 1) /* SCAN_SUCCEED */
		emit(call->mm, VM_PROMOTE, call->address, 0, 0);
	return 0;
}

static int enters_copy(struct kretprobe_instance *of, struct pt_regs *regs)
{
	*(struct call *)of->data = (struct call){ (void *)regs->di, regs->r8 & HPAGE_PMD_MASK,
						  (void *)regs->dx };
	return 0;
}

static int leaves_copy(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct call *call = (void *)of->data;

	if ((int)regs_return_value(regs) == 0 && pmd_trans_huge(*call->pmd))
		emit(call->mm, VM_MAPPING, call->address, 0, 0);
	return 0;
}

static int enters_pageout(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->si;

	*(struct call *)of->data = (struct call){ vma->vm_mm, regs->dx };
	return 0;
}

static int leaves_pageout(struct kretprobe_instance *of, struct pt_regs *regs)
{
	struct call *call = (void *)of->data;

	if ((bool)regs_return_value(regs))
		emit(call->mm, VM_PAGEOUT, call->address & PAGE_MASK, PAGE_SIZE, 0);
	return 0;
}

#define RETURNS(symbol, enters, leaves) \
	{ .kp.symbol_name = symbol, .entry_handler = enters, .handler = leaves, \
	  .data_size = sizeof(struct call), .maxactive = 64 }
static struct kretprobe returns[] = {
	RETURNS("do_huge_pmd_anonymous_page", enters_fault, leaves_fault),
	RETURNS("collapse_huge_page", enters_collapse, leaves_collapse),
	RETURNS("copy_huge_pmd", enters_copy, leaves_copy),
	RETURNS("try_to_unmap_one", enters_pageout, leaves_pageout),
};

static bool entered[ARRAY_SIZE(entries)], returned[ARRAY_SIZE(returns)];

/* A kernel may lack a function, as a part of its callers; its events are not emitted then. */
static void add_probes(void)
{
	size_t i;

	if (LINUX_VERSION_CODE >> 8 != KERNEL_VERSION(6, 1, 0) >> 8) {
		pr_notice("broadleaf_events: the arguments of functions are known for Linux 6.1\n");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		entered[i] = register_kprobe(&entries[i]) == 0;
		if (!entered[i])
			pr_notice("broadleaf_events: no probe of %s\n", entries[i].symbol_name);
	}
	for (i = 0; i < ARRAY_SIZE(returns); i++) {
		returned[i] = register_kretprobe(&returns[i]) == 0;
		if (!returned[i])
			pr_notice("broadleaf_events: no probe of %s\n", returns[i].kp.symbol_name);
	}
}

static void remove_probes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		if (entered[i])
			unregister_kprobe(&entries[i]);
	for (i = 0; i < ARRAY_SIZE(returns); i++)
		if (returned[i])
			unregister_kretprobe(&returns[i]);
}

static int emit_line(char *line)
{
	u64 numbers[3] = { 0 };
	char *word = strsep(&line, " ");
	int event = match_string(names, ARRAY_SIZE(names), word), i;

	if (event < 0)
		return -EINVAL;
	for (i = 0; i < 3 && (word = strsep(&line, " ")); i++)
		if (kstrtou64(word, 0, &numbers[i]))
			return -EINVAL;
	emit(current->mm, event, numbers[0], numbers[1], numbers[2]);
	return 0;
}

static ssize_t on_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	char *text, *rest, *line;
	int error = 0;

	if (bytes > PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(from, bytes);
	if (IS_ERR(text))
		return PTR_ERR(text);
	for (rest = text; !error && (line = strsep(&rest, "\n"));)
		if (*line)
			error = emit_line(line);
	kfree(text);
	return error ? error : bytes;
}

static const struct proc_ops operations = { .proc_write = on_write };

static int __init begin(void)
{
	if (num_possible_cpus() > MOST_CPUS)
		return -E2BIG;
	events = (void *)get_zeroed_page(GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	if (!proc_create("broadleaf-events", 0222, NULL, &operations)) {
		free_page((unsigned long)events);
		return -ENOMEM;
	}
	announce();
	if (probes)
		add_probes();
	return 0;
}

static void __exit end(void)
{
	remove_probes();
	remove_proc_entry("broadleaf-events", NULL);
	free_page((unsigned long)events);
}

module_init(begin);
module_exit(end);
