(* Learns to classify points, in ML: by votes in the cells of a table, and by a k-d tree for cells
   without votes. The points, the tree and all boxed numbers are in the garbage-collected heap. The
   arguments are the numbers of points and of questions. *)

type tree =
  | Leaf
  | Node of { point : float array; label : int; axis : int; below : tree; above : tree }

let state = ref 1

let uniform () =
  state := ((!state * 1103515245) + 12345) land 0x3fffffff;
  float_of_int !state /. 1073741824.0

let dimensions = 4
let point () = Array.init dimensions (fun _ -> uniform ())
let label point = if point.(0) *. point.(1) > point.(2) *. point.(3) then 1 else 0

(* The sides of the table, and its cells: 65 MiB of numbers. *)
let side = 54
let votes = Array.make (side * side * side * side) 0.0

let cell point =
  Array.fold_left (fun at place -> (at * side) + int_of_float (place *. float_of_int side)) 0 point

let vote point =
  let at = cell point in
  votes.(at) <- (votes.(at) +. if label point = 1 then 1.0 else -1.0)

let rec insert tree point depth =
  match tree with
  | Leaf ->
      Node { point; label = label point; axis = depth mod dimensions; below = Leaf; above = Leaf }
  | Node node ->
      if point.(node.axis) < node.point.(node.axis) then
        Node { node with below = insert node.below point (depth + 1) }
      else Node { node with above = insert node.above point (depth + 1) }

let rec ask tree point guess =
  match tree with
  | Leaf -> guess
  | Node node ->
      let side = if point.(node.axis) < node.point.(node.axis) then node.below else node.above in
      ask side point node.label

let () =
  let points = int_of_string Sys.argv.(1) and questions = int_of_string Sys.argv.(2) in
  let tree = ref Leaf in
  for _ = 1 to points do
    let point = point () in
    vote point;
    tree := insert !tree point 0
  done;
  let right = ref 0 in
  for _ = 1 to questions do
    let asked = point () in
    let votes = votes.(cell asked) in
    let guess = if votes = 0.0 then ask !tree asked 0 else if votes > 0.0 then 1 else 0 in
    if guess = label asked then incr right
  done;
  Printf.printf "%d of %d\n" !right questions
