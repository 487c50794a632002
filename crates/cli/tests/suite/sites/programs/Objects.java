// A table of small objects, which are used at random.
class Objects {
    static final class Node {
        long value;
    }

    public static void main(String[] arguments) {
        Node[] nodes = new Node[600_000];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node();
        }
        long state = 1, sum = 0;
        for (int i = 0; i < 400_000; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            Node node = nodes[(int) ((state >>> 33) % nodes.length)];
            node.value++;
            sum += node.value;
        }
        System.exit(sum == 1 ? 1 : 0);
    }
}
