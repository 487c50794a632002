import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;

/**
  * A heap like that of Java servers: a map with values of many sizes, garbage, and large arrays.
  * Prints "ready". Then, for each line with a count, it makes that many random updates and prints
  * the nanoseconds of processor time that they took.
 */
class Lookup {
    static final int ARRAYS = 48, WORDS = 1 << 20, KEYS = 400_000;
    static long state = 1;
    static byte[] sink;

    static long updates(long[][] arrays, HashMap<Integer, byte[]> table, int count) {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            int at = (int) ((state >>> 20) % ((long) ARRAYS * WORDS));
            sum += arrays[at >>> 20][at & (WORDS - 1)]++;
            if (i % 64 == 0) {
                byte[] value = table.get((int) ((state >>> 30) % KEYS));
                if (value != null) value[0]++;
            }
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        HashMap<Integer, byte[]> table = new HashMap<>();
        for (int i = 0; i < KEYS; i++) {
            table.put(i, new byte[16 + (int) (i * 7919L % 600)]);
            if (i % 3 == 0) {
                table.remove(i / 2);
                sink = new byte[4000];
            }
        }
        long[][] arrays = new long[ARRAYS][WORDS];
        for (long[] array : arrays) for (int i = 0; i < WORDS; i++) array[i] = i;
        // The updates are compiled before they are timed.
        updates(arrays, table, 3_000_000);
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            int count = Integer.parseInt(line.trim());
            long began = threads.getCurrentThreadCpuTime();
            updates(arrays, table, count);
            System.out.println(threads.getCurrentThreadCpuTime() - began);
        }
    }
}
