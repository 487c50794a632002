/* Where superpages pay in blocks.bl: offline(cycles=all,sizes=2m) on skylake, by broadleaf 0.1.0.
   The best come first. Addresses are those of the recording. With address randomisation, they differ in each run:
   take the start of the mapping at run time and add the offset in the comment. Call these while the mapping
   exists and is not yet used. They need <sys/mman.h>, and always or madvise in
   /sys/kernel/mm/transparent_hugepage/enabled. */
madvise((void *)0x46000000, 25165824, MADV_HUGEPAGE); /* anonymous 0x46000000-0x47800000 + 0x0, 12 x 2 MiB, spares 22,776 walks */
madvise((void *)0x40800000, 6291456, MADV_HUGEPAGE); /* anonymous 0x40000000-0x40e64000 + 0x800000, 3 x 2 MiB, spares 1,481 walks */
madvise((void *)0x44000000, 6291456, MADV_HUGEPAGE); /* file /tmp/tmp.PgQYO0Tst2/blocks.data + 0x0, 3 x 2 MiB, spares 879 walks, needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part */
madvise((void *)0x40600000, 2097152, MADV_HUGEPAGE); /* anonymous 0x40600000-0x40800000 + 0x0, 1 x 2 MiB, spares 766 walks */
madvise((void *)0x40e00000, 2097152, MADV_HUGEPAGE); /* anonymous 0x40000000-0x41100000 + 0xe00000, 1 x 2 MiB, spares 511 walks */
madvise((void *)0x43000000, 4194304, MADV_HUGEPAGE); /* anonymous 0x43000000-0x43600000 + 0x0, 2 x 2 MiB, spares 198 walks */
madvise((void *)0x40200000, 4194304, MADV_HUGEPAGE); /* anonymous 0x40000000-0x40e64000 + 0x200000, 2 x 2 MiB, spares 190 walks */
madvise((void *)0x45000000, 2097152, MADV_HUGEPAGE); /* shared memory 0x45000000-0x45400000 + 0x0, 1 x 2 MiB, spares 129 walks */
