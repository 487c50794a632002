/* Records of mappings, with the files that they map. */
#define _GNU_SOURCE
#include "recorder.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Natively, a program starts with 128 KiB of stack below its arguments. */
#define FIRST_STACK (128UL * 1024)

typedef struct { ULong dev, ino; } MappedFile;

static MappedFile* files; /* a file's number is its index */
static UInt        n_files, room;

static UInt file_number(ULong dev, ULong ino, ULong size, const char* path)
{
   for (UInt i = 0; i < n_files; i++)
      if (files[i].dev == dev && files[i].ino == ino)
         return i;
   if (n_files == room) {
      room = room ? 2 * room : 256;
      files = realloc(files, room * sizeof *files);
      if (!files)
         abort();
   }
   files[n_files] = (MappedFile){dev, ino};
   Payload p = {0};
   put(&p, n_files);
   put(&p, size);
   put_text(&p, path);
   bl_send(REC_FILE, &p);
   return n_files++;
}

static bool starts_with(const char* s, const char* head)
{
   return strncmp(s, head, strlen(head)) == 0;
}

/* Returns true for files that are only a name for memory. */
static bool is_memory(const char* path)
{
   return starts_with(path, "/dev/shm/") || starts_with(path, "/memfd:")
          || starts_with(path, "/SYSV") || starts_with(path, "/dev/zero");
}

void bl_send_map(Addr start, ULong len, UInt prot, UInt flags, UInt backing, UInt file,
                 ULong offset)
{
   ULong words[] = {start, PAGE_UP(len), prot, flags, backing, file, offset};
   bl_record(REC_MAP, words, 7);
}

void bl_send_range(UInt kind, Addr start, ULong len)
{
   ULong words[] = {start, PAGE_UP(len)};
   bl_record(kind, words, 2);
}

static void send_file_map(Addr start, ULong len, UInt prot, UInt flags, const struct stat* of,
                          const char* path, ULong offset)
{
   if (is_memory(path))
      bl_send_map(start, len, prot, flags,
                  flags & MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS, 0, 0);
   else if (!S_ISREG(of->st_mode))
      bl_send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
   else
      bl_send_map(start, len, prot, flags, BACK_FILE,
                  file_number(of->st_dev, of->st_ino, of->st_size, path), offset);
}

typedef struct { ULong start, end; } Code;

/* Returns the first part of an ELF file with code that ends above an offset. QEMU does not map the
   program's code as code of its own, so the kernel's list of mappings does not say. */
static Code code_above(const char* path, ULong offset)
{
   Elf64_Ehdr head;
   Elf64_Phdr part;
   Code       found = {~0UL, ~0UL};
   int        fd = open(path, O_RDONLY | O_CLOEXEC);
   if (fd < 0)
      return found;
   if (read(fd, &head, sizeof head) == sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
      for (UInt i = 0; i < head.e_phnum; i++)
         if (pread(fd, &part, sizeof part, head.e_phoff + i * sizeof part) == sizeof part
             && part.p_type == PT_LOAD && (part.p_flags & PF_X)
             && PAGE_UP(part.p_offset + part.p_filesz) > offset && part.p_offset < found.start)
            found = (Code){PAGE_DOWN(part.p_offset), PAGE_UP(part.p_offset + part.p_filesz)};
   close(fd);
   return found;
}

/* Records a listed mapping of a file, in pieces with code and without. */
static void send_pieces(Addr start, Addr end, UInt prot, UInt flags, const struct stat* of,
                        const char* path, ULong offset)
{
   while (start < end) {
      Code  code = code_above(path, offset);
      bool  is_code = code.start <= offset;
      ULong len = (is_code ? code.end : code.start) - offset;
      if (len > end - start)
         len = end - start;
      send_file_map(start, len, prot | (is_code ? PROT_EXEC : 0), flags, of, path, offset);
      start += len;
      offset += len;
   }
}

static void send_stack(void)
{
   Addr low = bl_stack_end - FIRST_STACK;
   if (low < bl_stack)
      low = bl_stack;
   bl_send_map(low, bl_stack_end - low, PROT_READ | PROT_WRITE, MAP_PRIVATE, BACK_STACK, 0, 0);
   ULong words[] = {low, bl_stack_end, bl_stack};
   bl_record(REC_STACK, words, 3);
}

/* Records a mapping of the kernel's list. The heap is not among them. */
static void send_listed(Addr start, Addr end, const char* rights, ULong offset, ULong dev,
                        ULong ino, const char* path)
{
   UInt prot = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0)
               | (rights[2] == 'x' ? PROT_EXEC : 0);
   UInt flags = rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
   if (start == bl_kernel_page) {
      bl_send_map(start, end - start, PROT_READ | PROT_EXEC, flags, BACK_KERNEL, 0, 0);
      return;
   }
   if (path[0] == '/') {
      struct stat of;
      if (stat(path, &of) != 0 || of.st_ino != ino)
         of = (struct stat){.st_mode = S_IFREG, .st_dev = dev, .st_ino = ino,
                            .st_size = offset + (end - start)};
      send_pieces(start, end, prot, flags, &of, path, offset);
      return;
   }
   if (bl_brk_base && start < bl_brk_end && end > bl_brk_base) {
      if (start < bl_brk_base)
         bl_send_map(start, bl_brk_base - start, prot, flags, BACK_ANONYMOUS, 0, 0);
      return;
   }
   if (prot != 0)
      bl_send_map(start, end - start, prot, flags, BACK_ANONYMOUS, 0, 0);
}

static void send_mappings(void)
{
   char  line[PATH_MAX + 128];
   FILE* maps = fopen("/proc/self/maps", "re");
   if (!maps)
      return;
   while (fgets(line, sizeof line, maps)) {
      unsigned long start, end, offset, ino;
      unsigned      major, minor;
      char          rights[8];
      int           at = 0;
      if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, rights, &offset, &major,
                 &minor, &ino, &at) < 7
          || !bl_is_programs(start))
         continue;
      line[strcspn(line, "\n")] = 0;
      if (start >= bl_stack_end || end <= bl_stack)
         send_listed(start, end, rights, offset, makedev(major, minor), ino, line + at);
   }
   fclose(maps);
   send_stack();
}

/* Records a process from its first instruction, or from its fork: its ids, command and mappings. */
void bl_process_begins(void)
{
   Payload* p = calloc(1, sizeof(Payload));
   if (!p)
      abort();
   put(p, getpid());
   put(p, getppid());
   put(p, bl_number_of_words);
   for (UInt i = 0; i < bl_number_of_words; i++)
      put_text(p, bl_words[i]);
   bl_send(REC_PROCESS, p);
   free(p);
   n_files = 0;
   send_mappings();
   if (bl_brk_base)
      bl_send_range(REC_BRK, bl_brk_base, bl_brk_end - bl_brk_base);
}

void bl_mapped(const ULong* args, Addr start)
{
   ULong       len = args[1];
   UInt        prot = args[2], flags = args[3];
   struct stat of;
   char        link[64], path[PATH_MAX];
   if (flags & MAP_ANONYMOUS) {
      bl_send_map(start, len, prot, flags,
                  flags & MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS, 0, 0);
      return;
   }
   if (fstat((int)args[4], &of) != 0) {
      bl_send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
      return;
   }
   snprintf(link, sizeof link, "/proc/self/fd/%d", (int)args[4]);
   ssize_t n = readlink(link, path, sizeof path - 1);
   path[n > 0 ? n : 0] = 0;
   send_file_map(start, len, prot, flags, &of, n > 0 ? path : "?", args[5]);
}
