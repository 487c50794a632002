/* Programs that the program executes. QEMU would let the kernel execute them, outside of the
   recording. So the recorder executes QEMU with the new program itself, before QEMU sees the call.
   A program that QEMU cannot run, or that cannot be executed at all, is left to QEMU and the
   kernel. */
#define _GNU_SOURCE
#include "recorder.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_WORDS 65536u
#define OWN_WORDS 32u
#define SCRIPTS 5

typedef struct { char** word; UInt n; bool fails; } Words;

static void add(Words* w, const char* text)
{
   char* copy = strdup(text);
   if (!copy || w->n >= MOST_WORDS + OWN_WORDS)
      w->fails = true;
   else
      w->word[w->n++] = copy;
}

/* Reads an array of texts from the program's memory. */
static void read_words(Words* w, Addr array)
{
   static char text[128 * 1024 + 1]; /* the longest text that Linux passes */
   w->word = calloc(MOST_WORDS + OWN_WORDS + 1, sizeof(char*));
   w->fails = !w->word;
   for (Addr one = 0; array && !w->fails; array += sizeof one) {
      if (!bl_copy(&one, array, sizeof one) || (one && !bl_copy_text(text, one, sizeof text)))
         w->fails = true;
      else if (one)
         add(w, text);
      else
         break;
   }
}

static void release(Words* w)
{
   for (UInt i = 0; i < w->n; i++)
      free(w->word[i]);
   free(w->word);
   *w = (Words){0};
}

/* Replaces the first argument by a script's interpreter, its argument and the script. */
static bool interpret(Words* args, char* path, const char* line)
{
   char interpreter[PATH_MAX], option[256];
   int  n = sscanf(line, " %4095s %255[^\n]", interpreter, option);
   if (n < 1)
      return false;
   Words old = *args;
   *args = (Words){calloc(MOST_WORDS + OWN_WORDS + 1, sizeof(char*)), 0, false};
   if (!args->word) {
      *args = old;
      return false;
   }
   add(args, interpreter);
   if (n == 2) {
      for (size_t i = strlen(option); i > 0 && strchr(" \t\r", option[i - 1]); i--)
         option[i - 1] = 0;
      if (option[0])
         add(args, option);
   }
   add(args, path);
   for (UInt i = 1; i < old.n; i++)
      add(args, old.word[i]);
   release(&old);
   snprintf(path, PATH_MAX, "%s", interpreter);
   return !args->fails;
}

typedef struct { const char* target; bool dynamic, interpreted; } Found;

/* Reads the headers of a program. Returns false if QEMU cannot run it. */
static bool look(int fd, Found* found)
{
   Elf64_Ehdr head;
   Elf64_Phdr part;
   if (pread(fd, &head, sizeof head, 0) != sizeof head
       || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
      return false;
   *found = (Found){head.e_machine == EM_X86_64    ? "x86_64"
                    : head.e_machine == EM_AARCH64 ? "aarch64"
                                                   : NULL,
                    head.e_type == ET_DYN, false};
   for (UInt i = 0; i < head.e_phnum; i++)
      if (pread(fd, &part, sizeof part, head.e_phoff + i * sizeof part) == sizeof part
          && part.p_type == PT_INTERP)
         found->interpreted = true;
   return found->target != NULL;
}

/* Follows scripts to their interpreter. Returns false if the kernel is to execute the file. */
static bool resolve(char* path, Words* args, Found* found)
{
   for (int scripts = 0; scripts <= SCRIPTS; scripts++) {
      char        start[257] = {0};
      struct stat of;
      int         fd = open(path, O_RDONLY | O_CLOEXEC);
      bool        fits = fd >= 0 && access(path, X_OK) == 0 && fstat(fd, &of) == 0
                  && S_ISREG(of.st_mode) && pread(fd, start, 256, 0) > 0;
      bool is_script = fits && strncmp(start, "#!", 2) == 0;
      bool is_program = fits && !is_script && !(of.st_mode & (S_ISUID | S_ISGID))
                        && look(fd, found);
      if (fd >= 0)
         close(fd);
      if (!is_script)
         return is_program;
      start[strcspn(start, "\n")] = 0;
      if (!interpret(args, path, start + 2))
         return false;
   }
   return false;
}

/* Appends a text with its commas doubled, as QEMU's options want it. */
static void quoted(char* to, size_t room, const char* text)
{
   size_t n = strlen(to);
   for (; *text && n + 2 < room; text++) {
      to[n++] = *text;
      if (*text == ',')
         to[n++] = ',';
   }
   to[n] = 0;
}

static void add_plugin(Words* qemu, const Found* found, UInt words)
{
   static char text[3 * PATH_MAX];
   text[0] = 0;
   quoted(text, sizeof text, bl_set.plugin);
   strcat(text, ",ring=");
   quoted(text, sizeof text, bl_set.ring);
   strcat(text, ",path=");
   quoted(text, sizeof text, bl_set.path);
   if (bl_set.prefix) {
      strcat(text, ",prefix=");
      quoted(text, sizeof text, bl_set.prefix);
   }
   size_t n = strlen(text);
   snprintf(text + n, sizeof text - n,
            ",shift=%u,children=%s,dynamic=%s,interpreted=%s,words=%u", bl_set.shift,
            bl_set.children ? "on" : "off", found->dynamic ? "on" : "off",
            found->interpreted ? "on" : "off", words);
   add(qemu, "-plugin");
   add(qemu, text);
}

/* Makes QEMU's environment. The program's own has no library of the recorder. */
static void add_environment(Words* qemu, const Words* env, Words* own)
{
   char        text[PATH_MAX + 16];
   const char* preload = NULL;
   own->word = calloc(MOST_WORDS + OWN_WORDS + 1, sizeof(char*));
   own->fails = !own->word;
   for (UInt i = 0; i < env->n && !own->fails; i++)
      if (strncmp(env->word[i], "LD_PRELOAD=", 11) == 0)
         preload = env->word[i];
      else
         add(own, env->word[i]);
   snprintf(text, sizeof text, "LD_PRELOAD=%s", bl_set.plugin);
   if (!own->fails)
      add(own, text);
   if (preload) {
      add(qemu, "-E");
      add(qemu, preload);
   } else {
      add(qemu, "-U");
      add(qemu, "LD_PRELOAD");
   }
}

static void become(const char* path, const Words* args, const Words* env, const Found* found,
                   bool recorded)
{
   char  program[PATH_MAX];
   Words qemu = {calloc(args->n + OWN_WORDS + 1, sizeof(char*)), 0, false}, own = {0};
   if (!qemu.word)
      return;
   snprintf(program, sizeof program, "%s/qemu-%s", bl_set.path, found->target);
   add(&qemu, program);
   add(&qemu, "-0");
   add(&qemu, args->n ? args->word[0] : path);
   add(&qemu, "-cpu");
   add(&qemu, "max");
   if (bl_set.prefix && strcmp(found->target, "aarch64") == 0) {
      add(&qemu, "-L");
      add(&qemu, bl_set.prefix);
   }
   if (recorded) {
      add_environment(&qemu, env, &own);
      add_plugin(&qemu, found, args->n ? args->n : 1);
   }
   add(&qemu, path);
   for (UInt i = 1; i < args->n; i++)
      add(&qemu, args->word[i]);
   if (!qemu.fails && !own.fails) {
      if (recorded) {
         Payload* p = calloc(1, sizeof(Payload));
         if (p) {
            put_text(p, path);
            bl_send(REC_EXEC, p);
            free(p);
         }
         bl_ring_flush();
      }
      execve(program, qemu.word, recorded ? own.word : env->word);
   }
   release(&qemu);
   release(&own);
}

/* Executes a program under QEMU. Returns if that is impossible. */
void bl_execute(Addr path, Addr args, Addr env, int folder, bool recorded)
{
   char  name[PATH_MAX], text[PATH_MAX];
   Words a = {0}, e = {0};
   Found found;
   bool  native = strcmp(bl_set.target, "x86_64") == 0;
   if (access(bl_set.plugin, R_OK) != 0) /* the recording has ended */
      recorded = false;
   if ((!recorded && native) || !bl_copy_text(text, path, sizeof text))
      return;
   if (folder == AT_FDCWD || text[0] == '/')
      snprintf(name, sizeof name, "%s", text);
   else if (snprintf(name, sizeof name, "/proc/self/fd/%d/%s", folder, text) >= PATH_MAX)
      return;
   if (strcmp(name, "/proc/self/exe") == 0)
      snprintf(name, sizeof name, "%s", bl_program);
   read_words(&a, args);
   read_words(&e, env);
   if (!a.fails && !e.fails && resolve(name, &a, &found))
      become(name, &a, &e, &found, recorded);
   release(&a);
   release(&e);
}
