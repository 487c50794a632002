#!/usr/bin/env bash
# Blocks with pages that were only read become superpages, `report` predicts as many as `run` makes,
# and refusals name the true reason. Needs root (userfaultfd, CAP_SYS_NICE), gcc and 400 MB of free
# memory.
set -u
broadleaf=$(realpath "${BROADLEAF:-target/release/broadleaf}")
[ "$(id -u)" = 0 ] && command -v gcc >/dev/null || { echo "cannot run: needs root and gcc" >&2; exit 3; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
cat >fill.c <<'C'
/* Fills blocks of 2 MiB in one of three kinds of memory, and waits. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 512, BLOCKS = 50 };
static const size_t BLOCK = (size_t)PAGE * PAGES, BYTES = (size_t)PAGE * PAGES * BLOCKS;

static char *aligned(size_t offset)
{
    char *memory = mmap(0, BYTES + 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(9);
    return (char *)(((uintptr_t)memory + BLOCK - 1) & ~(BLOCK - 1)) + offset;
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "";
    int seconds = count > 2 ? atoi(words[2]) : 5;
    volatile char sum = 0;
    if (!strcmp(kind, "read")) {
        /* Of each block 500 pages are stored to, and 12 are only read. */
        char *memory = aligned(0);
        for (size_t at = 0; at < BYTES; at += PAGE)
            if (at / PAGE % PAGES < 500)
                memory[at] = 1;
            else
                sum += *(volatile char *)(memory + at);
    } else if (!strcmp(kind, "watched")) {
        /* Missing pages are the business of a userfaultfd: 300 pages of each block are there. */
        char *memory = aligned(0), *source = calloc(PAGES, PAGE);
        int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        struct uffdio_api api = {.api = UFFD_API};
        struct uffdio_register range = {.range = {(uintptr_t)memory, BYTES}, .mode = UFFDIO_REGISTER_MODE_MISSING};
        if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
            return 9;
        memset(source, 7, 300 * PAGE);
        for (size_t at = 0; at < BYTES; at += BLOCK) {
            struct uffdio_copy copy = {.dst = (uintptr_t)memory + at, .src = (uintptr_t)source, .len = 300 * PAGE};
            if (ioctl(fd, UFFDIO_COPY, &copy))
                return 9;
        }
    } else {
        /* Shared memory whose addresses and offsets differ by two pages. */
        int fd = memfd_create("incongruent", 0);
        char *memory = aligned(2 * PAGE);
        if (fd < 0 || ftruncate(fd, BYTES) || mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
            return 9;
        memset(memory, 1, BYTES);
    }
    sleep(seconds);
    return 0;
}
C
gcc -O1 -o fill fill.c || exit 1
failed=0
check() { # NAME CONDITION...
  if [ "${@:2}" ]; then echo "ok: $1"; else echo "FAILED: $1: not ${*:2}"; failed=1; fi
}
value() { python3 -c 'import json, sys; print(eval("json.load(open(sys.argv[1]))" + sys.argv[2]))' "$@"; }
governed() { # KIND
  "$broadleaf" run --format json -o run.json --force --max-added unlimited --max-pressure 100 -- ./fill "$1" 15
}

./fill read 5 &
sleep 2
"$broadleaf" report $! --policy pop-256 --format json >report.json
wait
governed read
foretold=$(value report.json '["processes"][0]["policies"][0]["would_promote"]')
check "blocks with pages that were only read are foretold" "$foretold" -ge 50
check "as many are made" "$(value run.json '["promotions"]')" -eq "$foretold"
check "none is taken for shared" "$(value run.json '["refusals"].get("too_many_shared", 0)')" -eq 0
check "stalls are measured" "$(value run.json '["stalls"]["count"]')" -gt 0
governed watched
check "memory under userfaultfd is named" "$(value run.json '["refusals"].get("userfaultfd", 0)')" -eq 50
check "memory under userfaultfd is not named otherwise" "$(value run.json '["refusals"].get("no_charge", 0)')" -eq 0
governed shared
check "incongruent shared memory is named" "$(value run.json '["refusals"].get("incongruent", 0)')" -ge 49
exit $failed
