// The cheapest flow in a random transport network, by a network simplex with block pricing in the
// manner of mcf. Arguments: the nodes on each side, the arcs of each node, the most pivots.
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *above;
    struct arc *up;
    struct node *child, *next, *before;
    long potential, flow;
    int rises, depth;
};
struct arc {
    long cost;
    struct node *tail, *head;
    long flow;
};

static unsigned long state = 88172645463325252ul;

static unsigned long drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void cut(struct node *node) {
    if (node->before)
        node->before->next = node->next;
    else
        node->above->child = node->next;
    if (node->next)
        node->next->before = node->before;
}

static void hang(struct node *node, struct node *above, struct arc *up, int rises) {
    node->above = above, node->up = up, node->rises = rises;
    node->before = NULL, node->next = above->child;
    if (above->child)
        above->child->before = node;
    above->child = node;
}

/* Renews the potentials and depths of a part of the tree. */
static void renew(struct node *top) {
    struct node *node = top;
    for (;;) {
        long cost = node->up->cost;
        node->potential = node->above->potential + (node->rises ? cost : -cost);
        node->depth = node->above->depth + 1;
        if (node->child) {
            node = node->child;
            continue;
        }
        while (node != top && !node->next)
            node = node->above;
        if (node == top)
            return;
        node = node->next;
    }
}

int main(int count, char **arguments) {
    long side = atol(arguments[1]), each = atol(arguments[2]), most = atol(arguments[3]);
    long all = side * each, pivots = 0, at = 0, block = all / 100 + 1;
    struct node *nodes = calloc(2 * side + 1, sizeof *nodes), *root = nodes + 2 * side;
    struct arc *arcs = calloc(all + 2 * side, sizeof *arcs);
    for (long number = 0; number < all; number++)
        arcs[number] = (struct arc){1 + drawn() % 1000, nodes + number / each,
                                    nodes + side + drawn() % side, 0};
    for (long number = 0; number < 2 * side; number++) {
        /* Dear arcs to and from the root carry the flow at first. */
        struct arc *arc = arcs + all + number;
        int supplies = number < side;
        *arc = (struct arc){100000, supplies ? nodes + number : root,
                            supplies ? root : nodes + number, 1};
        hang(nodes + number, root, arc, supplies);
        renew(nodes + number);
    }
    for (; pivots < most; pivots++) {
        struct arc *best = NULL;
        long least = 0;
        for (long tried = 0; tried < all && !best; tried += block)
            for (long step = 0; step < block; step++, at = at + 1 < all ? at + 1 : 0) {
                struct arc *arc = arcs + at;
                long reduced = arc->cost - arc->tail->potential + arc->head->potential;
                if (arc->flow == 0 && reduced < least)
                    least = reduced, best = arc;
            }
        if (!best)
            break;
        /* The cycle of the arc: the flow falls on arcs against it. */
        struct node *one = best->tail, *other = best->head, *leaves = NULL;
        long fall = 1l << 40;
        int at_tail = 0;
        while (one != other) {
            int of_tail = one->depth >= other->depth;
            struct node *node = of_tail ? one : other;
            if (node->rises == of_tail && node->up->flow < fall)
                fall = node->up->flow, leaves = node, at_tail = of_tail;
            *(of_tail ? &one : &other) = node->above;
        }
        if (!leaves)
            break;
        for (struct node *node = best->tail; node != one; node = node->above)
            node->up->flow += node->rises ? -fall : fall;
        for (struct node *node = best->head; node != one; node = node->above)
            node->up->flow += node->rises ? fall : -fall;
        best->flow = fall;
        /* The part below the arc that leaves hangs from the arc that enters. */
        struct node *node = at_tail ? best->tail : best->head;
        struct node *above = at_tail ? best->head : best->tail, *top = node;
        struct arc *up = best;
        int rises = at_tail;
        for (;;) {
            struct node *next = node->above;
            struct arc *old = node->up;
            int rose = node->rises, last = node == leaves;
            cut(node);
            hang(node, above, up, rises);
            if (last)
                break;
            above = node, up = old, rises = !rose, node = next;
        }
        renew(top);
    }
    long cost = 0;
    for (long number = 0; number < all + 2 * side; number++)
        cost += arcs[number].flow * arcs[number].cost;
    printf("%ld after %ld pivots\n", cost, pivots);
}
