/* The recorder for QEMU, a plugin of its user-mode programs: options, start and end. Only
   `broadleaf record` and the recorder itself start it. */
#define _GNU_SOURCE
#include "recorder.h"

#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

Settings bl_set;
char**   bl_words;
UInt     bl_number_of_words;
char*    bl_program;

static UInt words;
static bool dynamic, interpreted;

static void option(const char* argument)
{
   const char* value = strchr(argument, '=');
   size_t      n = value ? (size_t)(value - argument) : 0;
   bool        on;
   if (n == 0)
      return;
   value++;
   on = strcmp(value, "on") == 0;
   if (strncmp(argument, "ring", n) == 0)
      bl_set.ring = strdup(value);
   else if (strncmp(argument, "path", n) == 0)
      bl_set.path = strdup(value);
   else if (strncmp(argument, "prefix", n) == 0)
      bl_set.prefix = strdup(value);
   else if (strncmp(argument, "shift", n) == 0)
      bl_set.shift = atoi(value);
   else if (strncmp(argument, "words", n) == 0)
      words = atoi(value);
   else if (strncmp(argument, "children", n) == 0)
      bl_set.children = on;
   else if (strncmp(argument, "dynamic", n) == 0)
      dynamic = on;
   else if (strncmp(argument, "interpreted", n) == 0)
      interpreted = on;
}

/* Finds the program's words: the last ones of QEMU's own command line, and its name after -0. */
static void find_words(void)
{
   static char text[4 << 20];
   size_t      n = 0;
   ssize_t     more;
   UInt        all = 0;
   int         fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
   if (fd < 0)
      return;
   while ((more = read(fd, text + n, sizeof text - 1 - n)) > 0)
      n += more;
   close(fd);
   for (size_t i = 0; i < n; i++)
      all += text[i] == 0;
   if (words == 0 || words > all)
      return;
   bl_words = calloc(words, sizeof(char*));
   if (!bl_words)
      return;
   char *at = text, *name = NULL;
   for (UInt i = 0; i < all; i++, at += strlen(at) + 1) {
      if (i == 2) /* QEMU, -0, the name */
         name = at;
      if (i >= all - words)
         bl_words[i - (all - words)] = at;
   }
   bl_number_of_words = words;
   bl_program = bl_words[0];
   if (name)
      bl_words[0] = name;
}

static void on_first_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb)
{
   if (bl_loading) {
      bl_loading = false;
      bl_ring_open();
      bl_process_begins();
      bl_take_turn(0);
   }
   bl_on_translation(id, tb);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void* data)
{
   (void)id;
   (void)data;
   if (bl_recording)
      bl_conclude(NULL);
   bl_ends(0, false);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                                const qemu_info_t* info, int argc,
                                                                char** argv)
{
   Dl_info here;
   for (int i = 0; i < argc; i++)
      option(argv[i]);
   if (info->system_emulation || !bl_set.ring || !bl_set.path
       || !bl_numbers_for(info->target_name)) {
      bl_say("run by `broadleaf record --engine qemu`, which gives it its options");
      return 1;
   }
   if (!dladdr((void*)qemu_plugin_install, &here))
      return 1;
   bl_set.plugin = strdup(here.dli_fname);
   bl_set.target = strdup(info->target_name);
   bl_unit_mask = ~((1ULL << bl_set.shift) - 1);
   find_words();
   bl_placement_init(bl_set.target, dynamic, interpreted);
   qemu_plugin_register_vcpu_init_cb(id, bl_on_thread);
   qemu_plugin_register_vcpu_tb_trans_cb(id, on_first_translation);
   qemu_plugin_register_vcpu_syscall_cb(id, bl_on_call);
   qemu_plugin_register_vcpu_syscall_ret_cb(id, bl_on_return);
   qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
   return 0;
}
